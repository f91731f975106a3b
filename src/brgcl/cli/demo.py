"""The command `brgcl demo`."""

import dataclasses
from pathlib import Path
from typing import Annotated

from typer import Option

from brgcl.cli.console import print_json, print_line, say, show_table
from brgcl.cli.grouped import grouped
from brgcl.cli.options import Json, Overwrite, Seed, SettingOptions, check_seeds
from brgcl.cli.run_files import write_run
from brgcl.cli.run_folder import claim_folder, last_command
from brgcl.progress import progress_bar


@grouped
def demo(
    method: SettingOptions,
    seed: Seed = 0,
    seeds: Annotated[int, Option(min=1, help="Number of graphs to generate.")] = 5,
    out: Annotated[Path, Option(help="Folder for the report.")] = Path("brgcl-demo"),
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Generate noisy graphs, and compare BRGCL with a GCN on the same noisy labels."""
    from brgcl.report.extra import check_report_extra

    draws = check_seeds(seed, seeds)
    check_report_extra()
    with claim_folder(out, overwrite=overwrite or last_command(out) == "demo") as folder:
        from brgcl.report.demo import DEMO_NOISE, run_demo

        config = method.config("demo")
        say(
            "Generating graphs with 2,000 nodes, 7 classes and 20 labels per class; noise: "
            f"{DEMO_NOISE}."
        )
        shown = run_demo(draws, config, progress_bar)
        table, first = shown.comparison(), shown.ours.runs[0]
        findings = {str(name): value for name, value in shown.suspects.attrs.items()}
        folder.about = {
            "inputs": {"dataset": "demo"}, "method": "brgcl",
            "settings": dataclasses.asdict(config), "noise": str(DEMO_NOISE),
            "protocol": "no-val", "seeds": list(draws), "tables": [table],
        }  # fmt: skip
        write_run(
            folder, first.noisy.graph, first.fitted, shown.summary(), shown.ours.nodes(),
            title="Demonstration on a generated graph", seed=first.seed,
            suspects=shown.suspects, findings=findings,
        )  # fmt: skip
    if json_:
        print_json(shown.summary())
        return
    show_table(table["title"], table["columns"], table["rows"])
    print_line(table["note"])
    print_line(shown.sentence())
    print_line(
        f"Report on the first graph: {out / 'report.html'}. Next:\n"
        f"  brgcl review {out}  decide on its suspicious labels\n"
        "  brgcl find-errors --edges FILE --labels FILE --out run  search your own graph"
    )

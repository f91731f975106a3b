"""The command `brgcl report`."""

from pathlib import Path
from shlex import quote
from typing import Annotated

from typer import Argument, Option

from brgcl.cli.console import print_json, print_line
from brgcl.cli.grouped import grouped
from brgcl.cli.options import Json, Overwrite
from brgcl.cli.run_folder import claim_file, tell_unfinished, write_anew
from brgcl.progress import progress_bar


@grouped
def report(
    run: Annotated[Path, Argument(help="Run folder, as written with --out.")],
    out: Annotated[Path | None, Option(help="HTML file; default: RUN/report.html.")] = None,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Write a run as one HTML page: map of the nodes, suspicious labels, training, graph."""
    from brgcl.report.page import write_page

    tell_unfinished(run)
    own = run / "report.html"
    page = own if out is None else out
    if page.absolute() != own.absolute():
        claim_file(page, overwrite=overwrite)
    with progress_bar("writing the report"):
        if page.absolute() == own.absolute():
            write_anew(run, own.name, lambda path: write_page(run, path))
        else:
            write_page(run, page)
    size = page.stat().st_size
    if json_:
        print_json({"report": str(page), "bytes": size})
    else:
        review = ""
        if (run / "suspects.parquet").is_file():
            review = f" To decide on suspicious labels: brgcl review {quote(str(run))}."
        print_line(
            f"Report: {page} ({size / 2**20:.1f} MB). Open it in a browser; it works offline."
            f"{review}"
        )

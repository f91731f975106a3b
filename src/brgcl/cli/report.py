"""The command `brgcl report`."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from brgcl.cli.console import print_json, print_line
from brgcl.cli.grouped import grouped
from brgcl.cli.options import Json, Overwrite
from brgcl.cli.run_folder import claim_file, write_anew
from brgcl.progress import progress_bar


@grouped
def report(
    run: Annotated[Path, Argument(help="Folder that a command wrote with --out.")],
    out: Annotated[Path | None, Option(help="File for the page; default: RUN/report.html.")] = None,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Show a run as one page: map of the nodes, suspicious labels, training, graph."""
    from brgcl.report.page import write_page

    page = run / "report.html" if out is None else out
    if out is not None:
        claim_file(out, overwrite=overwrite)
    with progress_bar("writing the report"):
        if out is None:
            write_anew(run, page.name, lambda path: write_page(run, path))
        else:
            write_page(run, out)
    size = page.stat().st_size
    if json_:
        print_json({"report": str(page), "bytes": size})
    else:
        print_line(
            f"Report: {page} ({size / 2**20:.1f} MB). Open it in a browser; it works offline. "
            f"To decide on suspicious labels: brgcl review {run}."
        )

"""All commands in one application; none of them imports anything heavy before it runs."""

from typing import Annotated

import typer
from typer import Option

from brgcl import __version__
from brgcl.cli.bench import bench
from brgcl.cli.console import print_line
from brgcl.cli.convert import convert
from brgcl.cli.demo import demo
from brgcl.cli.diagnose import diagnose
from brgcl.cli.doctor import doctor
from brgcl.cli.find_errors import find_errors
from brgcl.cli.graph import classify, cluster, embed
from brgcl.cli.lists import datasets, methods, version
from brgcl.cli.report import report
from brgcl.cli.review import review
from brgcl.cli.transform import transform
from brgcl.cli.tune import tune

HELP = """Learn on graphs whose labels, attributes or edges may be partly wrong.

Every command accepts --help, --quiet (no messages), --verbose (every step) and --debug (full \
traceback of an error).
"""

app = typer.Typer(
    name="brgcl",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    demo, embed, classify, cluster, transform, find_errors, diagnose, report, review, tune, convert,
    datasets, methods, doctor, version,
):  # fmt: skip
    app.command()(command)
app.add_typer(bench, name="bench")


def print_version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        print_line(__version__)
        raise typer.Exit


@app.callback(help=HELP)
def brgcl(
    version: Annotated[
        bool, Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take the options that come before a command."""

"""What all pictures share: their sizes, their axes and their files."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from brgcl.atomic_files import replacing
from brgcl.errors import InputError

PAGE = 7.2  # width of a page's text, in inches
LOOK = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "figure.titlesize": 9,
    "legend.fontsize": 7.5, "legend.title_fontsize": 7.5, "xtick.labelsize": 7,
    "ytick.labelsize": 7, "axes.linewidth": 0.6, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True, "grid.linewidth": 0.4,
    "grid.alpha": 0.4, "svg.hashsalt": "brgcl", "pdf.fonttype": 42,
}  # fmt: skip


def check_picture(file: Path) -> None:
    """Refuse a picture that cannot be written, before anything is computed for it."""
    if file.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise InputError(f"a picture is written as .svg, .png or .pdf, got '{file.name}'")
    if find_spec("matplotlib") is None:
        raise InputError("a picture needs matplotlib; pip install 'brgcl[report]' brings it")


@contextmanager
def look() -> Iterator[None]:
    """Plot and write with the same sizes everywhere."""
    import matplotlib

    with matplotlib.rc_context(LOOK):
        yield


def new_figure(
    title: str, width: float, height: float, places: Sequence[tuple[int, int]]
) -> tuple[Any, list[Any]]:
    """Make a figure with axes at some places of a grid, which are (line, column)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(title)
    lines, columns = (1 + max(place[i] for place in places) for i in (0, 1))
    grid = figure.add_gridspec(lines, columns)
    return figure, [figure.add_subplot(grid[place]) for place in places]


def save_picture(figure: Any, file: Path) -> None:
    """Write a picture in the format of its ending; the same picture gives the same file."""
    form = file.suffix[1:].lower()
    dates: dict[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with look(), replacing(file) as temporary:
        dpi = 300 if form == "png" else 200  # in the others only maps have pixels
        figure.savefig(temporary, format=form, dpi=dpi, metadata=dates.get(form))

"""Draw the map of the packages from the imports: python benchmarks/write_architecture.py."""

import ast
import textwrap
from html import escape
from pathlib import Path

from import_graph import SOURCE, import_graph, layers, packages, shortest_arrows

MAP = Path(__file__).parent.parent / "docs" / "img" / "architecture.svg"
HIDDEN = {"__init__", "__main__"}  # doors that lead everywhere
WIDTH, BOX_WIDTH, BOX_HEIGHT, GAP, LEVEL = 1240, 196, 78, 14, 118
STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #1b1f24 }
  .name { font-weight: 600; font-size: 14px }
  .box { fill: #f6f8fa; stroke: #57606a }
  .arrow { fill: none; stroke: #57606a; stroke-opacity: 0.55 }
  .head { fill: #57606a; fill-opacity: 0.75 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .box { fill: #161b22; stroke: #8b949e }
    .arrow { stroke: #8b949e } .head { fill: #8b949e }
  }
"""


def purpose(package: str) -> str:
    """The first sentence of a package's docstring."""
    file = SOURCE / f"{package}.py"
    text = (file if file.exists() else SOURCE / package / "__init__.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").split("\n")[0].rstrip(".")


def places(levels: list[list[str]]) -> dict[str, tuple[float, float]]:
    """Centre of each box; the lowest level is at the bottom."""
    found = {}
    for number, level in enumerate(reversed(levels)):
        step = BOX_WIDTH + GAP
        left = (WIDTH - step * len(level) + GAP) / 2 + BOX_WIDTH / 2
        for column, package in enumerate(level):
            found[package] = (left + column * step, 20 + number * LEVEL + BOX_HEIGHT / 2)
    return found


def box(package: str, x: float, y: float) -> str:
    """One package with its name and its purpose."""
    lines = textwrap.wrap(purpose(package), 30)[:3]
    folder = "" if (SOURCE / f"{package}.py").exists() else "/"
    shown = [
        f'<rect class="box" x="{x - BOX_WIDTH / 2:.1f}" y="{y - BOX_HEIGHT / 2:.1f}" '
        f'width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"/>',
        f'<text class="name" x="{x:.1f}" y="{y - 18:.1f}" text-anchor="middle">'
        f"{escape(package)}{folder}</text>",
    ]
    shown += [
        f'<text x="{x:.1f}" y="{y + 1 + 15 * row:.1f}" text-anchor="middle">{escape(line)}</text>'
        for row, line in enumerate(lines)
    ]
    return "\n".join(shown)


def arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    """A curve from the foot of one box to the head of another."""
    (x1, y1), (x2, y2) = start, end
    y1, y2 = y1 + BOX_HEIGHT / 2, y2 - BOX_HEIGHT / 2 - 6
    bend = max(30, (y2 - y1) / 2)
    return (
        f'<path class="arrow" marker-end="url(#head)" d="M{x1:.1f} {y1:.1f} '
        f'C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}"/>'
    )


def draw_map() -> str:
    """The whole map as SVG."""
    graph = {
        package: targets - HIDDEN
        for package, targets in packages(import_graph()).items()
        if package not in HIDDEN
    }
    levels = layers(graph)
    where = places(levels)
    height = 40 + LEVEL * len(levels) - (LEVEL - BOX_HEIGHT)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'aria-label="Packages of brgcl; an arrow means: imports">',
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path class="head" d="M0 0 L8 4 L0 8 z"/></marker></defs>',
        *(arrow(where[package], where[target]) for package, target in shortest_arrows(graph)),
        *(box(package, *where[package]) for level in levels for package in level),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    MAP.write_text(draw_map(), encoding="utf-8")

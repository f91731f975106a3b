"""Draw docs/img/method.svg, the method from the noisy graph to the answers.

python benchmarks/draw_method.py
"""

from collections.abc import Collection
from dataclasses import dataclass
from html import escape
from pathlib import Path

from brgcl.atomic_files import write_text

FILE = Path(__file__).parent.parent / "docs" / "img" / "method.svg"
WIDTH, HEIGHT, HEAD = 1160, 640, 9
STYLE = """
  .back { fill: #ffffff }
  text { font: 13px system-ui, sans-serif; fill: #1b1f24 }
  .title { font-weight: 600 } .small { font-size: 12px; fill: #57606a }
  .band { fill: #f6f8fa } .bandname { font-weight: 600; font-size: 14px }
  .box { fill: #ffffff; stroke: #8c959f } .loss { fill: #ddf4ff; stroke: #0969da }
  .answer { fill: #dafbe1; stroke: #1a7f37 }
  .arrow { fill: none; stroke: #57606a; stroke-width: 1.4 } .head { fill: #57606a }
  .edge { stroke: #8c959f; stroke-width: 1.3 }
  .a { fill: #0072b2 } .b { fill: #d55e00 } .faint { opacity: 0.25 }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117 } text { fill: #e6edf3 } .small { fill: #b1bac4 }
    .band { fill: #161b22 } .box { fill: #0d1117; stroke: #656c76 }
    .loss { fill: #0c2d6b; stroke: #58a6ff } .answer { fill: #033a16; stroke: #3fb950 }
    .arrow, .edge { stroke: #9198a1 } .head { fill: #9198a1 }
    .a { fill: #56b4e9 } .b { fill: #f0883e }
    }
"""
# A small graph with two wrong edges: nodes with their class, and edges.
NODES = [(8, 14, "a"), (30, 6, "a"), (26, 32, "a"), (64, 10, "b"), (86, 22, "b"), (66, 36, "b")]
EDGES = [(0, 1), (0, 2), (1, 2), (1, 3), (3, 4), (3, 5), (4, 5), (2, 5)]


@dataclass(frozen=True)
class Box:
    """A step: its place, its name, and what it does in a line or two."""

    x: int
    y: int
    width: int
    title: str
    lines: tuple[str, ...] = ()
    kind: str = "box"
    picture: int = 0  # height that is left free for a small drawing

    @property
    def height(self) -> int:
        """Height of the box: its texts and its drawing."""
        return 32 + 17 * len(self.lines) + self.picture

    @property
    def left(self) -> tuple[int, int]:
        """Where arrows arrive from the left."""
        return self.x, self.y + self.height // 2

    @property
    def right(self) -> tuple[int, int]:
        """Where arrows leave to the right."""
        return self.x + self.width, self.y + self.height // 2

    @property
    def bottom(self) -> tuple[int, int]:
        """Where arrows leave below."""
        return self.x + self.width // 2, self.y + self.height

    def draw(self) -> str:
        """The box with its texts."""
        middle = self.x + self.width / 2
        parts = [
            f'<rect class="{self.kind}" x="{self.x}" y="{self.y}" width="{self.width}" '
            f'height="{self.height}" rx="6"/>',
            f'<text class="title" x="{middle}" y="{self.y + 21}" text-anchor="middle">'
            f"{escape(self.title)}</text>",
        ]
        parts += [
            f'<text class="small" x="{middle}" y="{self.y + 39 + self.picture + 17 * row}" '
            f'text-anchor="middle">{escape(line)}</text>'
            for row, line in enumerate(self.lines)
        ]
        return "\n".join(parts)


LEFT_OUT = ("edges and attributes", "left out at random")
GRAPH = Box(24, 112, 160, "Noisy graph", ("attributes and edges,", "no labels"), picture=48)
VIEW1 = Box(244, 46, 160, "View 1", LEFT_OUT, picture=46)
VIEW2 = Box(244, 168, 160, "View 2", LEFT_OUT, picture=46)
ENCODER = Box(464, 132, 176, "Encoder", ("a graph convolutional", "network"))
NODE_LOSS = Box(
    700,
    132,
    200,
    "Node contrast, Eq. (1)",
    ("a node should find itself", "in the other view"),
    "loss",
)
LOSS = Box(950, 132, 180, "Loss, Eq. (8)", ("their sum; one step", "of Adam per epoch"), "loss")
CLUSTERS = Box(
    74, 326, 200, "Clusters, Eq. (3), (4)", ("DP-means, which also", "finds their number")
)
CONFIDENT = Box(
    314,
    326,
    250,
    "Confident nodes, Eq. (5)-(7)",
    ("those whose neighbourhood", "agrees with their cluster"),
)
PROTOTYPES = Box(604, 326, 200, "Prototypes", ("means of the confident", "nodes of each cluster"))
PROTO_LOSS = Box(
    844, 326, 286, "Prototype contrast, Eq. (2)",
    ("a node should be near the prototype", "of its cluster, far from others"), "loss",
)  # fmt: skip
Z = Box(24, 530, 200, "Representations", ("of all nodes,", "learned without labels"))
LABELS = Box(24, 458, 200, "Given labels", ("some of them wrong",))
MODEL = Box(
    330, 488, 300, "Label-noise model",
    ("Which classes are taken for which?", "How far is each label to be believed?"),
)  # fmt: skip
CLASSES = Box(780, 448, 350, "Classes of all nodes", ("NodeClassifier, brgcl classify",), "answer")
WRONG = Box(780, 508, 350, "Labels that are wrong", ("brgcl find-errors, brgcl review",), "answer")
FOUND = Box(780, 568, 350, "Clusters and their number", ("brgcl cluster, no labels",), "answer")
BOXES = (
    GRAPH, VIEW1, VIEW2, ENCODER, NODE_LOSS, LOSS, CLUSTERS, CONFIDENT, PROTOTYPES, PROTO_LOSS,
    Z, LABELS, MODEL, CLASSES, WRONG, FOUND,
)  # fmt: skip


def arrow(*points: tuple[int, int]) -> str:
    """An arrow through some points; one between two boxes side by side is a curve."""
    (x1, y1), before, (x2, y2) = points[0], points[-2], points[-1]
    if len(points) == 2 and x1 != x2:
        middle = (x1 + x2) / 2
        path = f"M{x1} {y1} C{middle} {y1} {middle} {y2} {x2 - HEAD} {y2}"
    else:
        end = (x2 - HEAD, y2)
        if x2 == before[0]:
            end = (x2, y2 - HEAD if y2 > before[1] else y2 + HEAD)
        path = "M" + " L".join(f"{x} {y}" for x, y in [*points[:-1], end])
    return f'<path class="arrow" marker-end="url(#head)" d="{path}"/>'


def small_graph(x: int, y: int, dropped: Collection[int] = (), faint: Collection[int] = ()) -> str:
    """The small graph without some edges and with some nodes faint."""
    parts = []
    for number, (i, j) in enumerate(EDGES):
        (x1, y1, _), (x2, y2, _) = NODES[i], NODES[j]
        ends = f'x1="{x + x1}" y1="{y + y1}" x2="{x + x2}" y2="{y + y2}"'
        parts += [f'<line class="edge" {ends}/>'] if number not in dropped else []
    for number, (dx, dy, group) in enumerate(NODES):
        shown = f"{group} faint" if number in faint else group
        parts.append(f'<circle class="{shown}" cx="{x + dx}" cy="{y + dy}" r="5.5"/>')
    return "\n".join(parts)


def band(y: int, height: int, name: str) -> str:
    """A part of the picture with its name."""
    return (
        f'<rect class="band" x="10" y="{y}" width="{WIDTH - 20}" height="{height}" rx="10"/>\n'
        f'<text class="bandname" x="24" y="{y + 24}">{escape(name)}</text>'
    )


def draw_method() -> str:
    """The whole picture as SVG."""
    down = ENCODER.bottom
    arrows = [
        arrow(GRAPH.right, VIEW1.left),
        arrow(GRAPH.right, VIEW2.left),
        arrow(VIEW1.right, ENCODER.left),
        arrow(VIEW2.right, ENCODER.left),
        arrow(ENCODER.right, NODE_LOSS.left),
        arrow(NODE_LOSS.right, LOSS.left),
        arrow(down, (down[0], 302), (174, 302), (174, CLUSTERS.y)),
        arrow(CLUSTERS.right, CONFIDENT.left),
        arrow(CONFIDENT.right, PROTOTYPES.left),
        arrow(PROTOTYPES.right, PROTO_LOSS.left),
        arrow((LOSS.bottom[0], PROTO_LOSS.y), LOSS.bottom),
        arrow(Z.right, MODEL.left),
        arrow(LABELS.right, MODEL.left),
        arrow(MODEL.right, CLASSES.left),
        arrow(MODEL.right, WRONG.left),
        arrow(Z.right, (270, Z.right[1]), (270, FOUND.left[1]), FOUND.left),
    ]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="The method: two views, encoder, node contrast; clusters, confident nodes, '
        'prototypes; then labels and the label-noise model">',
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" markerWidth="9" markerHeight="8" refX="0" refY="4" '
        'markerUnits="userSpaceOnUse" orient="auto">'
        '<path class="head" d="M0 0 L9 4 L0 8 z"/></marker></defs>',
        f'<rect class="back" width="{WIDTH}" height="{HEIGHT}"/>',
        band(10, 400, "Training, without labels"),
        band(420, 210, "Afterwards, with the labels there are"),
        *arrows,
        *(box.draw() for box in BOXES),
        small_graph(GRAPH.x + 33, GRAPH.y + 32),
        small_graph(VIEW1.x + 33, VIEW1.y + 30, dropped={1, 3, 6}),
        small_graph(VIEW2.x + 33, VIEW2.y + 30, dropped={0, 7}, faint={2, 4}),
        "</svg>\n",
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    write_text(FILE, draw_method())
    print(f"Written: {FILE}")

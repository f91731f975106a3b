"""How large is the report of a large graph, how long does it take to open, and does it stay smooth?

    python benchmarks/report_speed.py [--nodes 100000] [--frames 60] [--out FOLDER]

Writes the report of a generated run, opens it in a headless Chromium, and moves and zooms the map
once per frame. Chromium draws by software here, so that the numbers hold without a graphics card.
They are printed twice: as the page is, and with every point drawn again in every frame.
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from brgcl.report.page import write_page

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--disable-background-networking", "--no-first-run",
]  # fmt: skip
CLASSES = 20
MEASURE = """([kind, frames]) => new Promise((resolve) => {
    const { map } = window.brgclReport;
    const box = map.stage.getBoundingClientRect();
    const at = (type, x, y) => map.stage.dispatchEvent(new PointerEvent(type, {
        pointerId: 1, button: 0, bubbles: true, clientX: box.left + x, clientY: box.top + y }));
    const [x, y] = [box.width / 2, box.height / 2];
    map.reset();
    if (kind === "pan, zoomed in") map.zoom(4);
    const pans = kind !== "zoom";
    const times = [];
    let [before, count] = [0, 0];
    if (pans) at("pointerdown", x, y);
    function frame(now) {
        if (before) times.push(now - before);
        before = now;
        if (times.length === frames) {
            if (pans) at("pointerup", x, y);
            return resolve(times);
        }
        count += 1;
        const turn = count / 10;
        if (pans) at("pointermove", x + 300 * Math.sin(turn), y + 200 * Math.sin(turn / 2));
        else map.stage.dispatchEvent(new WheelEvent("wheel", { ctrlKey: true, cancelable: true,
            deltaY: count % 60 < 30 ? -40 : 40, clientX: box.left + x, clientY: box.top + y }));
        return requestAnimationFrame(frame);
    }
    requestAnimationFrame(frame);
})"""


def write_run(folder: Path, num_nodes: int, seed: int = 0) -> Path:
    """Write the folder of a run on a generated graph: nodes, edges, suspects, no training."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(CLASSES, size=num_nodes)
    wrong = rng.random(num_nodes) < 0.1
    given = np.where(wrong, rng.integers(CLASSES, size=num_nodes), truth)
    score = np.clip(np.where(given == truth, 0.95, 0.05) + rng.normal(0, 0.03, num_nodes), 0, 1)
    names = np.array([f"class {code}" for code in range(CLASSES)], dtype=object)
    centres = rng.normal(0, 30, (CLASSES, 2))
    places = centres[truth] + rng.normal(0, 6, (num_nodes, 2))
    nodes = pd.DataFrame({"node_id": np.arange(num_nodes), "label_given": names[given]})
    nodes = nodes.assign(predicted=names[truth], cluster=truth, score=score)
    nodes = nodes.assign(confidence=rng.random(num_nodes), map_x=places[:, 0], map_y=places[:, 1])
    suspects = pd.DataFrame({"node": np.arange(num_nodes), "given": names[given]})
    suspects = suspects.assign(suggested=names[truth], probability=1 - score, score=score)
    suspects = suspects.assign(is_error=given != truth, evidence="All 5 nearest nodes say so.")
    ends = rng.integers(num_nodes, size=(5 * num_nodes, 2))
    edges = pd.DataFrame(np.sort(ends, axis=1), columns=["source", "target"], dtype=np.int32)
    folder.mkdir(parents=True, exist_ok=True)
    nodes.to_parquet(folder / "nodes.parquet")
    suspects.sort_values("score", ignore_index=True).to_parquet(folder / "suspects.parquet")
    edges.to_parquet(folder / "edges.parquet")
    (folder / "run.json").write_text(json.dumps({"title": "A large graph"}), encoding="utf-8")
    return folder


def measure(report: Path, frames: int) -> None:
    """Open a report and print how long it takes, and how long its frames take."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as session:
        browser = session.chromium.launch(executable_path=program, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        start = time.perf_counter()
        page.goto(report.as_uri())
        page.wait_for_selector(".map-stage[data-drawn]")
        print(f"{time.perf_counter() - start:.1f} s to open")
        for title, setting in (("as it is", True), ("every point in every frame", False)):
            page.evaluate("(on) => { window.brgclReport.map.picture.shifts = on; }", setting)
            for kind in ("pan", "pan, zoomed in", "zoom"):
                times = page.evaluate(MEASURE, [kind, frames])
                median, slow = statistics.median(times), sorted(times)[int(0.95 * len(times))]
                print(
                    f"{title}, {kind}: {median:.0f} ms per frame ({1000 / median:.0f} frames/s), "
                    f"95 % of the frames below {slow:.0f} ms"
                )
                page.wait_for_timeout(500)
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = write_run(given.out or Path(folder), given.nodes)
        start = time.perf_counter()
        report = write_page(run)
        print(
            f"{given.nodes:,} nodes: {report.stat().st_size / 1e6:.1f} MB, "
            f"{time.perf_counter() - start:.1f} s to write"
        )
        measure(report, given.frames)

"""The report in a browser: what a reader clicks, types and downloads."""

import io

import pandas as pd
import pytest

from brgcl.cli.app import app
from brgcl.data import make_graph
from brgcl.report.page import write_page

HOSTILE = ("<script>window.hit = 1</script>", '"><img src=x onerror="window.hit = 2">', "</script>")


@pytest.fixture
def open_report(page, make_run):
    """A function that writes the report of a run and opens it; gives page and run folder."""

    def show(*arguments, **options):
        run = make_run(*arguments, **options)
        page.goto(write_page(run).as_uri())
        page.wait_for_selector(".map-stage[data-drawn]")
        return page, run

    return show


def state(page, expression):
    """A value of the page's own objects."""
    return page.evaluate(f"(({{ map, table, run }}) => {expression})(window.brgclReport)")


def colours(page):
    """The colours in the middle of the map, as a picture of the canvas."""
    return page.locator("canvas.map-points").screenshot()


def test_the_report_of_a_real_run(page, folds_once, tmp_path):
    """A small graph with wrong labels: train, judge, and look at the most suspicious one."""
    data = make_graph(90, num_classes=3, num_features=12, avg_degree=4)
    ends = data.edge_index[:, data.edge_index[0] < data.edge_index[1]].numpy()
    labels = [f"class {code}" for code in data.y.tolist()]
    tables = {
        "edges": pd.DataFrame({"from": ends[0], "to": ends[1]}),
        "features": pd.DataFrame(data.x.to_dense().numpy()).reset_index(names="id"),
        "labels": pd.DataFrame({"id": range(90), "kind": labels}),
    }
    words = ["find-errors", "--quiet", "--label-noise", "symmetric:0.2", "--out", tmp_path / "run"]
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        words += [f"--{name}", tmp_path / f"{name}.csv"]
    for setting in ("epochs=3", "hidden=16", "dim=16", "reported=prototypes"):
        words += ["--set", setting]
    app([str(word) for word in words], standalone_mode=False)
    page.goto((tmp_path / "run" / "report.html").as_uri())
    page.wait_for_selector(".map-stage[data-drawn]")
    suspects = pd.read_parquet(tmp_path / "run" / "suspects.parquet")
    page.locator("#filter-errors").uncheck()
    page.locator(".grid-space .grid-row").first.click()
    assert page.locator(".node-id").inner_text() == str(suspects["node"][0])
    assert page.locator(".why").inner_text() == suspects["evidence"][0]
    assert state(page, "map.selected") == state(page, "run.suspects.node[0]")
    assert page.locator(".heat").is_visible()
    assert state(page, "table.rows.length") == len(suspects)


def test_the_first_screen_says_what_counts_and_the_map_is_drawn(open_report):
    page, run = open_report()
    assert page.locator(".headline").count() == 3
    first = " ".join(page.locator(".headline").first.inner_text().split())
    assert first == "8 labels look wrong, out of 60 judged labels."
    assert page.locator(".headline code").inner_text() == f"brgcl review {run}"
    assert state(page, "map.placed.length") == 59  # one node has no place
    assert state(page, "map.picture.points.kind") == "webgl"
    drawn = page.evaluate(
        """() => {
            const canvas = document.querySelector("canvas.map-points");
            const gl = canvas.getContext("webgl2");
            const bytes = new Uint8Array(4 * canvas.width * canvas.height);
            gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
            return bytes.reduce((sum, byte, i) => sum + (i % 4 === 3 && byte > 100 ? 1 : 0), 0);
        }"""
    )
    assert drawn > 59 * 10  # pixels of points


def test_colouring_and_legend(open_report):
    page, run = open_report()
    placed = pd.read_parquet(run / "nodes.parquet").dropna(subset=["map_x"])
    seen = set()
    for title in ("Given label", "Prediction", "Cluster", "Confidence", "Suspicion"):
        page.get_by_text(title, exact=True).first.click()
        page.wait_for_timeout(50)
        seen.add(colours(page))
    assert len(seen) >= 4  # clusters are the predictions here, in the same colours
    page.get_by_text("Given label", exact=True).first.click()
    entries = page.locator(".legend-entry", has=page.locator("small"))
    number = (placed["label_given"] == "red").sum()
    assert entries.all_inner_texts()[0].split() == ["red", str(number)]
    entries.first.click()
    assert entries.first.get_attribute("aria-pressed") == "false"
    hidden = state(page, "Array.from(map.placed).filter((i) => !map.isShown(i))")
    assert hidden == placed.index[placed["label_given"] == "red"].tolist()
    entries.nth(1).dblclick()
    assert entries.nth(1).get_attribute("aria-pressed") == "true"
    assert entries.nth(2).get_attribute("aria-pressed") == "false"


def test_rows_and_map_select_each_other(open_report):
    page, _ = open_report()
    row = page.locator(".grid-space .grid-row").nth(3)
    node = row.locator("div").first.inner_text()
    row.click()
    assert str(state(page, "map.selected")) == node
    assert page.locator(".node-id").inner_text() == node
    assert row.get_attribute("aria-selected") == "true"
    assert sorted(state(page, "map.neighbours")) == [int(node) - 1, int(node) + 1]
    other = int(page.locator(".grid-space .grid-row").nth(6).locator("div").first.inner_text())
    page.locator(".map-stage").scroll_into_view_if_needed()
    x, y = state(page, f"map.onScreen({other})")
    box = page.locator(".map-stage").bounding_box()
    page.mouse.move(box["x"] + x, box["y"] + y)
    hovered = state(page, "map.hovered")  # another node may lie on top of it
    assert page.locator(".map-tip strong").inner_text() == str(hovered)
    assert "Neighbours say" in page.locator(".map-tip").inner_text()
    page.mouse.click(box["x"] + x, box["y"] + y)
    assert page.locator(".node-id").inner_text() == str(hovered)
    assert state(page, "run.suspects.node[table.selected]") == hovered


def test_the_keyboard_is_enough(open_report):
    page, _ = open_report()
    page.locator(".grid-view").focus()
    first = page.locator(".node-id").inner_text()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator(".node-id").inner_text() != first
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert state(page, "table.rows.indexOf(table.selected)") == 7
    page.locator(".map-stage").focus()
    before = state(page, "[map.state.scale, map.state.left]")
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    after = state(page, "[map.state.scale, map.state.left]")
    assert after[0] > before[0]
    page.keyboard.press("0")
    assert state(page, "[map.state.scale, map.state.left]") == before
    page.keyboard.press("Escape")
    assert state(page, "map.selected") == -1


def test_ids_of_usual_length_are_read_in_full(open_report):
    page, _ = open_report(ids=[f"paper-{i:04d}" for i in range(60)])
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        cut = """() => [...document.querySelectorAll(".grid-space .grid-row > :first-child")]
            .some((cell) => cell.scrollWidth > cell.clientWidth)"""
        assert not page.evaluate(cut)
        edge = """(row) => document.querySelector(row).children[1].getBoundingClientRect().left"""
        edges = [page.evaluate(edge, row) for row in (".grid-head", ".grid-space .grid-row")]
        assert edges[0] == pytest.approx(edges[1], abs=1)  # the head stands above its columns


def test_class_names_without_end_leave_the_page_usable(open_report):
    page, _ = open_report([f"{number} {'a name that goes on ' * 30}" for number in range(3)])
    page.locator(".grid-space .grid-row").first.click()
    assert page.locator("aside.node").bounding_box()["height"] < 1200


def test_a_node_is_found_by_its_id(open_report):
    page, _ = open_report(ids=[f"paper-{i:02d}" for i in range(60)])
    box = page.locator("#search-box")
    box.fill("ER-3")
    options = page.locator("#search-list [role=option] b")
    assert options.all_inner_texts() == [f"paper-3{i}" for i in range(8)]
    box.press("ArrowDown")
    box.press("Enter")
    assert page.locator(".node-id").inner_text() == "paper-31"
    assert state(page, "map.selected") == 31
    assert sorted(state(page, "map.neighbours")) == [30, 32]
    box.fill("no such node")
    assert page.locator("#search-list").inner_text() == "No node has this id"


def test_the_selection_is_downloaded_as_it_is_shown(open_report):
    page, run = open_report()
    suspects = pd.read_parquet(run / "suspects.parquet")

    def download():
        with page.expect_download() as waiting:
            page.locator("#download").click()
        assert waiting.value.suggested_filename == "selection.csv"
        return pd.read_csv(io.BytesIO(waiting.value.path().read_bytes()))

    flagged = suspects[suspects["is_error"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(
        download(), flagged, check_exact=False, atol=1e-4, check_dtype=False
    )
    page.locator("#filter-errors").uncheck()
    page.locator("#filter-given").select_option(label="green")
    page.get_by_role("button", name="Node", exact=True).click()
    page.get_by_role("button", name="Node", exact=True).click()
    kept = suspects[suspects["given"] == "green"].sort_values("node", ascending=False)
    found = download()
    assert found["node"].tolist() == kept["node"].tolist()
    assert page.locator("#table-count").inner_text().startswith(f"{len(kept)} of 60")
    page.locator("#filter-clear").click()
    assert page.locator("#table-count").inner_text().startswith("60 of 60")


def test_a_cell_of_the_matrix_filters_the_table(open_report):
    page, run = open_report()
    suspects = pd.read_parquet(run / "suspects.parquet")
    pair = suspects[suspects["is_error"]].iloc[0]
    cell = page.locator(f".heat td[title^='{pair['suggested']} is labelled {pair['given']}']")
    cell.click()
    both = ["given", "suggested"]
    same = (suspects[both] == pair[both]).all(axis=1) & suspects["is_error"]
    assert state(page, "table.rows.length") == same.sum()
    assert page.locator("#filter-given option:checked").inner_text() == pair["given"]


def test_a_frame_on_the_map_filters_the_table(open_report):
    page, _ = open_report()
    box = page.locator(".map-stage").bounding_box()
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.up()
    page.keyboard.up("Shift")
    left = state(page, "table.rows.map((row) => map.onScreen(run.suspects.node[row]))")
    assert 0 < len(left) < 8
    assert all(x <= box["width"] / 2 and y <= box["height"] / 2 for x, y in left)


def test_the_theme_changes(open_report):
    page, _ = open_report()
    before = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") != before
    assert page.locator("#theme").inner_text() == "Light"


def test_a_hostile_graph_is_text(open_report):
    ids = [f"{i}{HOSTILE[i % 3]}" for i in range(60)]
    page, _ = open_report(HOSTILE, ids)
    assert page.locator("h1").inner_text() == f"Labels of {HOSTILE[0]}"
    page.locator(".grid-space .grid-row").first.click()
    assert page.locator(".node-id").inner_text() in ids
    page.locator("#search-box").fill("<img")
    assert page.locator("#search-list b").first.inner_text() in ids
    page.keyboard.press("Escape")
    page.get_by_text("Given label", exact=True).first.click()
    shown = page.locator(".legend-entry", has=page.locator("small")).all_inner_texts()
    assert [text.rsplit(maxsplit=1)[0] for text in shown] == list(HOSTILE)
    x, y = state(page, "map.onScreen(7)")
    page.locator(".map-stage").hover(position={"x": x, "y": y})
    assert page.locator(".map-tip strong").inner_text() in ids
    assert page.locator("img").count() == 0
    assert page.evaluate("() => window.hit") is None


@pytest.mark.parametrize(
    "without",
    [("suspects.parquet", "findings.json"), ("edges.parquet", "history.json", "metrics.json")],
    ids=["no labels judged", "no edges"],
)
def test_a_run_with_less_has_a_page_too(open_report, without):
    page, _ = open_report(without=without)
    page.locator(".grid-space .grid-row").nth(2).click()
    assert page.locator(".node-id").inner_text() == str(state(page, "map.selected"))
    if "suspects.parquet" in without:
        assert page.locator("#table-title").inner_text() == "Nodes"
        assert state(page, "table.rows.length") == 60


def test_without_webgl_the_map_is_drawn_on_a_plain_canvas(page, make_run):
    page.add_init_script(
        "const real = HTMLCanvasElement.prototype.getContext;"
        "HTMLCanvasElement.prototype.getContext = function (kind, ...more) {"
        "  return kind === 'webgl2' ? null : real.call(this, kind, ...more); };"
    )
    page.goto(write_page(make_run()).as_uri())
    page.wait_for_selector(".map-stage[data-drawn=canvas]")
    page.locator(".grid-space .grid-row").nth(1).click()
    assert state(page, "map.selected") > 0


COUNT_DRAWING = """
    window.drawing = { vertices: [], uploads: 0 };
    const gl = WebGL2RenderingContext.prototype;
    for (const name of ["bufferData", "bufferSubData"]) {
        const real = gl[name];
        gl[name] = function (...given) { drawing.uploads += 1; return real.apply(this, given); };
    }
    const draw = gl.drawElements;
    gl.drawElements = function (mode, count, ...more) {
        drawing.vertices.push(count);
        return draw.call(this, mode, count, ...more);
    };
"""


DRAG = """(steps) => new Promise((resolve) => {
    const { map } = brgclReport;
    const box = map.stage.getBoundingClientRect();
    const at = (type, step) => map.stage.dispatchEvent(new PointerEvent(type, {
        pointerId: 1, bubbles: true, clientX: box.left + 100 + 4 * step, clientY: box.top + 100 }));
    at("pointerdown", 0);
    function frame(step) {
        if (step > steps) { at("pointerup", steps); return requestAnimationFrame(resolve); }
        at("pointermove", step);
        return requestAnimationFrame(() => frame(step + 1));
    }
    frame(1);
})"""


@pytest.mark.parametrize("many", [True, False], ids=["many nodes", "few nodes"])
def test_moving_the_map_uploads_nothing_and_shifts_a_picture_of_many_nodes(page, make_run, many):
    page.add_init_script(COUNT_DRAWING)
    page.goto(write_page(make_run()).as_uri())
    page.wait_for_selector(".map-stage[data-drawn]")
    state(page, f"(map.picture.shifts = {str(many).lower()}, map.picture.rest = 1e6, 0)")
    state(page, "(map._resize(), 0)")
    page.wait_for_function("() => brgclReport.map.picture.drawn")
    page.evaluate("() => { drawing.vertices = []; drawing.uploads = 0; }")
    page.evaluate(DRAG, 20)
    moved = page.evaluate("() => drawing")
    assert moved["uploads"] == 0
    assert moved["vertices"] == ([] if many else [59] * 20)
    state(page, "(map.picture.rest = 0, map.move(1, 0), 0)")
    page.wait_for_function(f"() => drawing.vertices.length === {1 if many else 21}")
    drawn, wanted = state(page, "[map.picture.drawn.left - map.picture.margin[0], map.state.left]")
    assert drawn == wanted


def test_a_shifted_picture_shows_the_points_where_they_are(open_report):
    page, _ = open_report()
    state(page, "(map.picture.shifts = true, map._resize(), 0)")
    page.wait_for_timeout(300)
    state(page, "(map.zoom(1.5, 100, 50), map.move(30, -20), 0)")
    page.wait_for_function("() => brgclReport.map.picture.layer.style.transform.includes('1.5')")
    place = """() => {
        const { map } = brgclReport;
        const [stage, layer] = [map.stage, map.picture.layer].map((e) => e.getBoundingClientRect());
        const { scale, left, width } = map.picture.drawn;
        const at = (map.positions[2 * 7] * scale + left) / width * layer.width;
        return [layer.left + at - stage.left - map.stage.clientLeft, map.onScreen(7)[0]];
    }"""
    shifted = page.evaluate(place)
    assert shifted[0] == pytest.approx(shifted[1], abs=0.01)
    page.wait_for_timeout(300)
    rested = page.evaluate(place)
    assert rested == pytest.approx([shifted[1]] * 2, abs=0.01)
    assert state(page, "map.picture.drawn.scale === map.state.scale")
    state(page, "(map.zoom(9), 0)")  # too far to stretch a picture
    page.wait_for_function(
        "() => brgclReport.map.picture.drawn.scale === brgclReport.map.state.scale"
    )


@pytest.mark.parametrize("number", [2, 70])
def test_few_and_many_classes_fit_the_page(open_report, number):
    names = [f"Department of applied research number {code}" for code in range(number)]
    page, _ = open_report(names, num_nodes=3 * number + 60)
    page.get_by_text("Given label", exact=True).first.click()
    assert page.locator(".map-legend .legend-entry").count() == number
    assert page.locator(".heat tbody td").count() == number**2
    looks = page.locator(".legend-entry path").evaluate_all(
        "(paths) => paths.map((p) => p.getAttribute('d') + p.getAttribute('fill'))"
    )
    assert len(set(looks)) == number  # colour or shape tells any two apart
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("() => document.documentElement.scrollWidth") == width
        beyond = """() => [...document.querySelectorAll("main .card > *, .filters > *")].filter(
            (e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.id || e.className)"""
        assert page.evaluate(beyond) == []


def test_a_narrow_page_and_paper_hold_everything(open_report):
    page, _ = open_report()
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
    page.emulate_media(media="print")
    assert page.locator(".on-paper tbody tr").count() == 8
    assert page.locator(".on-paper").is_visible()
    assert not page.locator("#suspects").is_visible()
    assert page.locator("canvas.map-points").is_visible()


def test_paper_is_light_and_holds_the_whole_map(open_report):
    page, _ = open_report()
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate("() => BrgclPalette.ofClass(0)")
    page.evaluate(
        """() => matchMedia("print").addEventListener("change", (event) => {
            if (!event.matches) return;
            const { map } = brgclReport;
            const { width, height } = map.picture.layer.getBoundingClientRect();
            window.printed = {
                colour: BrgclPalette.ofClass(0),
                layer: [width, height], stage: [map.stage.clientWidth, map.stage.clientHeight],
                paper: getComputedStyle(document.body).backgroundColor,
            };
        })"""
    )
    page.pdf(format="A4")
    printed = page.evaluate("() => printed")
    assert printed["colour"] != dark
    assert printed["paper"] == "rgb(255, 255, 255)"
    assert printed["layer"] == pytest.approx(printed["stage"], abs=1)
    assert state(page, "map.picture.drawn.width === map.stage.clientWidth")
    assert page.evaluate("() => BrgclPalette.ofClass(0)") == dark

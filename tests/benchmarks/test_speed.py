"""The list of bare kernels, the dense references, and the measurement of a small case."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import speed
from brgcl.config import BRGCLConfig
from brgcl.errors import InputError
from brgcl.method.node_loss import node_loss
from brgcl.method.views import two_views
from kernels import Sizes, epoch_kernels, sizes_of, time_kernels
from reference import dense_node_loss
from speed_table import detail_lines, plot, slopes, table, table_rows

FOLDER = str(Path(speed.__file__).parent)
CORA = Sizes(N=2708, F=1433, x=49216, a=13264, h=512, D=256, m=2708, objective="exp", exact=True,
             kept=True)  # fmt: skip
PEAK = f"import sys; sys.path.insert(0, {FOLDER!r}); import speed; print(speed.own_peak())"
LOSS = ("U V'", "S V", "S' U", "exp")


def counts(sizes):
    return {kernel.name: kernel.count for kernel in epoch_kernels(sizes)}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"objective": "abs"}, (1, 1, 1, 0)),  # three products
        ({"kept": False}, (2, 1, 1, 2)),  # four, and an exp per pass
        ({}, (1, 1, 1, 1)),  # three where tiles are kept
        ({"exact": False, "kept": False, "m": 256}, (2, 2, 2, 2)),  # each direction by itself
        ({"exact": False, "kept": False, "m": 256, "objective": "abs"}, (1, 1, 1, 0)),
    ],
    ids=["abs", "exp", "exp, kept", "exp, sampled", "abs, sampled"],
)
def test_products_of_the_node_loss(changes, expected):
    found = counts(dataclasses.replace(CORA, **changes))
    assert tuple(found.get(name, 0) for name in LOSS) == expected


def test_three_encoder_passes_forward_and_backward():
    found = counts(CORA)
    assert {name: found[name] for name in ("X W0", "X' G", "H W1", "G W1'", "H' G")} == {
        "X W0": 3, "X' G": 3, "H W1": 3, "G W1'": 3, "H' G": 3
    }  # fmt: skip
    assert (found["A H"], found["A Z"], found["Adam"]) == (6, 6, 1)


def test_narrow_attributes_are_averaged_first():
    found = counts(dataclasses.replace(CORA, F=128, averages_first=True))
    assert {name: found[name] for name in ("A X", "P W0", "P' G", "A Z", "H W1")} == {
        "A X": 2, "P W0": 3, "P' G": 3, "A Z": 6, "H W1": 3
    }  # fmt: skip
    assert not {"X W0", "X' G", "A H"} & set(found)


def test_operations_by_hand():
    flops = {kernel.name: kernel.flops for kernel in epoch_kernels(CORA)}
    assert flops["U V'"] == 2 * 2708 * 2708 * 256
    assert flops["X W0"] == 2 * 49216 * 512
    assert flops["A Z"] == 2 * 13264 * 256
    assert flops["H W1"] == 2 * 2708 * 512 * 256


def test_sizes_are_read_off_the_graph(monkeypatch):
    monkeypatch.setitem(speed.GENERATED, "20k", 300)
    graph, config = speed._prepared("20k", "sampled", "exp")
    sizes = sizes_of(graph, config)
    assert (sizes.N, sizes.F, sizes.h, sizes.D, sizes.m) == (300, 128, 512, 256, 256)
    assert not sizes.exact
    exact = sizes_of(graph, BRGCLConfig(num_negatives=None))
    assert (exact.m, exact.exact, exact.kept) == (300, True, True)


@pytest.mark.parametrize("objective", ["exp", "abs"])
def test_the_dense_reference_is_the_same_loss(objective):
    generator = torch.Generator().manual_seed(0)
    h1, h2 = (torch.randn(50, 8, generator=generator, dtype=torch.float64) for _ in range(2))
    dense = dense_node_loss(h1, h2, objective=objective, tau=0.4)
    torch.testing.assert_close(dense, node_loss(h1, h2, objective=objective, tau=0.4))


def test_a_case_is_measured_and_printed_as_json(monkeypatch, capsys):
    monkeypatch.setattr(speed, "GENERATED", {"20k": 300})
    monkeypatch.setattr(speed, "peak_memory", lambda *case: 123.0)
    monkeypatch.setattr(speed, "empty_memory", lambda: 100.0)
    monkeypatch.setattr(
        speed, "_in_fresh_process", lambda function, *arguments, usual: 0.5 if usual else None
    )
    speed.main(["--cases", "20k", "--repeats", "1", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [(case["case"], case["mode"]) for case in found["cases"]] == [
        ("20k", "exact"), ("20k", "sampled")
    ]  # fmt: skip
    for case in found["cases"]:
        assert case["num_nodes"] == 300
        assert case["ratio_to_kernels"] == pytest.approx(
            case["seconds_per_epoch"] / case["kernel_seconds"]
        )
        assert case["kernel_seconds"] == pytest.approx(
            sum(kernel["seconds"] for kernel in case["kernels"])
        )
        assert min(case["stages"].values()) > 0
        assert case["speedup_over_grace"] == pytest.approx(0.5 / case["seconds_per_epoch"])
        assert case["dense_gap"] < 1e-4
        assert case["peak_mb"] == 123.0
    assert found["slopes"] == {"time": None, "memory": None}  # of one size there is none
    assert found["machine"]["torch"] == str(torch.__version__)
    assert found["machine"]["clock"] == ("processor" if torch.get_num_threads() == 1 else "wall")


def test_a_reference_that_does_not_fit_is_skipped_with_the_reason(monkeypatch):
    monkeypatch.setitem(speed.GENERATED, "20k", 300)
    monkeypatch.setattr(speed, "MEMORY_FOR_REFERENCES", 1e3)
    monkeypatch.setattr(speed, "peak_memory", lambda *case: None)
    found = speed.measure("20k", "sampled", repeats=1)
    assert found["grace_seconds"] is None
    assert found["dense_seconds"] is None
    assert set(found["reasons"]) == {"grace", "dense"}


def test_each_operator_is_counted_once(monkeypatch):
    """Six products with an adjacency are timed as two goes over the three operators."""
    monkeypatch.setitem(speed.GENERATED, "20k", 300)
    monkeypatch.setattr("kernels.median_seconds", lambda call, repeats: 1.0)
    graph, config = speed._prepared("20k", "sampled", "exp")
    views = two_views(graph, config.views, torch.Generator().manual_seed(0))
    found = time_kernels(graph, views, sizes_of(graph, config), repeats=1)
    assert found["A Z"] == 2.0
    assert found["A X"] == 1.0
    assert found["P W0"] == 3.0
    assert found["U V'"] == 2.0


def test_peak_memory_is_that_of_the_new_process_alone(monkeypatch):
    ballast = torch.ones(200_000_000)  # 800 MB here, none of it there
    peak = speed.own_peak()
    assert peak > 800
    monkeypatch.setenv("BRGCL_DATA", "")
    child = subprocess.run(
        [sys.executable, "-c", PEAK],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert 50 < float(child.stdout) < peak - 300
    assert len(ballast) == 200_000_000


def test_grace_is_timed_in_a_process_of_its_own_that_asks_nothing_of_the_machine(monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    seen = {}

    def run(command, env, **others):
        seen.update(program=command[4], arguments=command[5:], env=env)
        return subprocess.CompletedProcess(command, 0, stdout="0.25")

    monkeypatch.setattr(subprocess, "run", run)
    assert speed._in_fresh_process("grace_and_tell", "cora", "exp", "3", usual=True) == 0.25
    assert seen["program"].startswith("import torch")
    assert seen["arguments"] == ["cora", "exp", "3"]
    assert "OMP_WAIT_POLICY" not in seen["env"]
    speed._in_fresh_process("tell_peak")
    assert seen["env"]["OMP_WAIT_POLICY"] == "PASSIVE"


def test_grace_trains_an_epoch(monkeypatch, capsys):
    monkeypatch.setitem(speed.GENERATED, "20k", 100)
    monkeypatch.setattr(sys, "argv", ["-c", "20k", "exp", "1"])
    speed.grace_and_tell()
    assert float(capsys.readouterr().out) > 0


# What is shown


def figures(nodes, power=1.0, **changes):
    case = {
        "case": f"{nodes}", "mode": "sampled", "generated": True, "num_nodes": nodes,
        "seconds_per_epoch": 1e-5 * nodes**power, "kernel_seconds": 1e-5 * nodes,
        "ratio_to_kernels": 1.25, "speedup_over_grace": None, "speedup_over_dense": 2.0,
        "peak_mb": 400 + nodes / 100, "reasons": {"grace": "needs about 90 GB"},
        "stages": {"views": 0.002}, "kernels": [
            {"name": "A Z", "shape": "(1,1)(1,1)", "count": 6, "seconds": 0.003}
        ],
    }  # fmt: skip
    return case | changes


@pytest.mark.parametrize("power", [1.0, 1.5])
def test_slopes_are_those_of_powers(power):
    cases = [figures(nodes, power) for nodes in (1000, 2000, 8000)]
    cases.append(figures(500, mode="exact", seconds_per_epoch=99))  # counts for nothing
    cases.append(figures(700, generated=False, seconds_per_epoch=99))
    found = slopes(cases, empty_mb=400)
    assert found == {"time": pytest.approx(power), "memory": pytest.approx(1)}
    assert slopes(cases[:2], empty_mb=400) == {"time": None, "memory": None}


def test_a_row_shows_what_was_measured_and_the_lines_say_what_was_not():
    (row,) = table_rows([figures(1000)])
    assert row == ["1000", "sampled", "1,000", "0.010", "0.010", "1.25", "-", "2.0", "410"]
    assert detail_lines(figures(1000)) == [
        "1000, sampled: views 2.0 ms",
        "  grace was skipped: needs about 90 GB",
        "  6 x A Z  (1,1)(1,1)  3.0 ms",
    ]


def test_the_table_names_its_columns():
    text = table("Speed, exp", [figures(1000)])
    assert text.startswith("Speed, exp\n")
    assert "/GRACE" in text
    assert "1.25" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cases", "corra"], "did you mean 'cora'"),
        (["--cases", "320k", "--mode", "exact"], "none of these cases"),
        (["--plot", "speed.gif"], "written as .svg, .png or .pdf"),
        (["--mode", "fast"], "invalid choice: 'fast'"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message, capsys):
    with pytest.raises(SystemExit) as end:
        speed.main(arguments)
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_the_picture_is_plotted(tmp_path):
    cases = [figures(nodes) for nodes in (1000, 2000, 8000)]
    cases.append(figures(2708, case="cora", generated=False, mode="exact"))
    plot(cases, 400, tmp_path / "speed.svg")
    text = (tmp_path / "speed.svg").read_text()
    assert text.count("<svg") == 1


def test_a_wrong_case_has_no_peak(monkeypatch):
    """The process that is to train it ends with an error, and no number is read from it."""
    monkeypatch.setattr(sys, "argv", ["-c", "nowhere", "exact", "exp"])
    monkeypatch.setattr(speed, "keep_freed_memory", lambda: True)
    with pytest.raises(InputError, match="nowhere"):
        speed.train_and_tell()

    def failed(command, **options):
        assert "from speed import train_and_tell; train_and_tell()" in command[4]
        assert command[5:] == ["nowhere", "exact", "exp"]
        return subprocess.CompletedProcess(command, 1, stdout="12.5")

    monkeypatch.setattr(subprocess, "run", failed)
    assert speed.peak_memory("nowhere", "exact", "exp") is None

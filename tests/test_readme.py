"""What the README shows is what runs."""

import json
import re
import shlex
from functools import partial
from pathlib import Path

import pytest
import torch
import typer

import brgcl
from brgcl.cli.app import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_three_lines_say_it_all(monkeypatch):
    """The lines at the top run on any graph and labels; here with a small model."""
    small = partial(brgcl.BRGCL, hidden=32, dim=16, epochs=20, warmup_epochs=10)
    monkeypatch.setattr(brgcl, "BRGCL", small)
    (lines,) = blocks("py")
    assert lines.count("\n") == 3
    data = brgcl.make_graph(num_nodes=120, num_classes=3, num_features=60)
    scope = {"brgcl": brgcl, "data": data, "labels": torch.where(data.train_mask, data.y, -1)}
    exec(lines, scope)  # the README's own code
    assert (scope["predicted"] == data.y).float().mean() > 0.5
    assert len(scope["suspects"]) == int(data.train_mask.sum())


def test_the_first_screen_has_code_and_a_picture():
    top = "\n".join(README.splitlines()[:35])
    assert "```py\n" in top
    assert "<img src=" in top


def test_python_runs_and_prints_what_is_shown(capsys):
    (block,) = blocks("python")
    scope = {}
    exec(block, scope)  # the README's own code
    printed = capsys.readouterr().out.splitlines()
    (shown,) = (text.splitlines() for text in blocks("text"))
    found = {str(row.node): row for row in scope["suspects"].itertuples()}
    assert len(printed) == len(shown) == 3
    for line in shown:  # late digits decide the order of equals, and differ between processors
        node = line.partition(":")[0]
        row = found[node]
        assert line == f"{node}: {row.given} -> {row.suggested}. {row.evidence}"
        assert row.Index < 10
    wrong = scope["labels"] != scope["data"].y
    flagged = torch.tensor([int(row.node) for row in found.values() if row.is_error])
    assert wrong[flagged].float().mean() > 0.7
    assert wrong[flagged].sum() > 0.8 * wrong.sum()


@pytest.mark.parametrize(
    "line", [line for block in blocks("sh") for line in block.splitlines() if line]
)
def test_shell_commands_parse(line):
    program, command, *arguments = shlex.split(line)
    assert program == "brgcl"
    group = typer.main.get_command(app)
    found = group.get_command(None, command)
    assert found is not None, f"no command {command}"
    context = found.make_context(command, arguments)
    assert context.params


def test_links_lead_to_files():
    links = re.findall(r"\]\(([^)#]+)\)", README) + re.findall(r'src="([^"]+)"', README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_make_targets_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    named = set(re.findall(r"^    make ([a-z-]+)", README, flags=re.M))
    assert named
    assert named <= targets


def test_demo_figures_are_those_of_its_record():  # brgcl demo --json > results/demo.json
    demo = json.loads((ROOT / "results" / "demo.json").read_text(encoding="utf-8"))
    for title, name in [("GCN on the noisy labels", "gcn"), ("BRGCL on the same labels", "brgcl")]:
        accuracy, spread = demo[f"{name}_accuracy_mean"], demo[f"{name}_accuracy_std"]
        assert f"| {title} | {accuracy:.3f} ± {spread:.3f} |" in README
    assert f"s.d. of {demo['n']} |" in README
    found, right = demo["recall_mean"], demo["precision_mean"]
    assert f"It finds {found:.0%} of the wrong labels; {right:.0%} of".replace("%", " %") in README


@pytest.mark.slow
def test_demo_gives_its_record(tmp_path, capsys):
    app(["demo", "--json", "--out", str(tmp_path)], standalone_mode=False)
    now = json.loads(capsys.readouterr().out)
    then = json.loads((ROOT / "results" / "demo.json").read_text(encoding="utf-8"))
    assert now.keys() == then.keys()
    assert now["n"] == then["n"]
    for name in ("gcn_accuracy_mean", "brgcl_accuracy_mean"):
        assert now[name] == pytest.approx(then[name], abs=0.02)  # other machines round otherwise

"""What the README shows is what runs."""

import json
import re
import shlex
from pathlib import Path

import pytest
import torch
import typer

from brgcl.cli.app import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_python_blocks_run_and_find_planted_errors(capsys):
    scope = {}
    for block in blocks("python"):
        exec(block, scope)  # the README's own code
    data, labels = scope["data"], scope["labels"]
    assert scope["z"].shape == (600, 256)
    right = (scope["predicted"] == data.y)[data.test_mask].float().mean()
    as_given = (labels == data.y)[data.train_mask].float().mean()
    assert 0.6 < as_given < 0.9  # the labels really are noisy
    assert right > 0.6
    errors = scope["errors"]
    called = torch.tensor(errors[errors.is_error].node.tolist())
    assert (labels[called] != data.y[called]).float().mean() > 0.5
    assert "suggested" in capsys.readouterr().out


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
    links = re.findall(r"\]\(([^)#]+)\)", README)
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

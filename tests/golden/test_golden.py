"""One short run against its record; see README.md beside this file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

import brgcl

RECORD = Path(__file__).parent / "short_run.json"
TOLERANCE = 1e-4
# What a processor without AVX would compute: none of its instructions, and other rounding.
OLD_PROCESSOR = {
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
    "OPENBLAS_CORETYPE": "Nehalem",
}
GRAPH = {"num_nodes": 150, "num_classes": 3, "num_features": 60, "seed": 1}
# Settings whose defaults may be tuned are fixed here: the run guards the method, not the tuning.
SETTINGS = {
    "seed": 7,
    "epochs": 5,
    "warmup_epochs": 2,
    "hidden": 32,
    "dim": 16,
    "num_layers": 2,
    "lr": 0.01,
    "drop1": 0.2,
    "drop2": 0.4,
    "mask1": 0.3,
    "mask2": 0.4,
    "tau": 0.4,
    "num_negatives": None,
    "proto_weight": 0.3,
    "proto_tau": 0.4,
    "xi": 0.5,
    "gamma0": 0.3,
}


def short_run() -> dict:
    with threadpool_limits(limits=1):
        model = brgcl.BRGCL(**SETTINGS).fit(brgcl.make_graph(**GRAPH))
    return {
        "graph": GRAPH,
        "settings": SETTINGS,
        "loss": [epoch.loss for epoch in model.history_],
        "node_loss": [epoch.node_loss for epoch in model.history_],
        "proto_loss": [epoch.proto_loss for epoch in model.history_],
        "num_prototypes_in_training": [epoch.num_prototypes for epoch in model.history_],
        "num_prototypes": model.num_prototypes_,
        "num_clusters": model.num_clusters_,
        "confident_nodes": int(model.confident_.sum()),
        "representations": model.representations_[:3, :6].tolist(),
        "confidence": model.confidence_[:6].tolist(),
    }


@pytest.fixture(
    scope="module", params=["here", pytest.param("old processor", marks=pytest.mark.slow)]
)
def found(request) -> dict:
    if request.param == "here":
        return short_run()
    run = [sys.executable, "-W", "ignore", __file__, "--print"]
    done = subprocess.run(run, env=os.environ | OLD_PROCESSOR, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def recorded() -> dict:
    return json.loads(RECORD.read_text(encoding="utf-8"))


def test_the_record_is_of_this_run(recorded):
    assert recorded["graph"] == GRAPH
    assert recorded["settings"] == SETTINGS


@pytest.mark.parametrize("name", ["loss", "node_loss", "confidence"])
def test_figures_are_as_recorded(found, recorded, name):
    assert found[name] == pytest.approx(recorded[name], abs=TOLERANCE)


def test_prototype_losses_are_as_recorded(found, recorded):
    assert found["proto_loss"][:2] == recorded["proto_loss"][:2] == [None, None]
    assert found["proto_loss"][2:] == pytest.approx(recorded["proto_loss"][2:], abs=TOLERANCE)


def test_representations_are_as_recorded(found, recorded):
    for row, expected in zip(found["representations"], recorded["representations"], strict=True):
        assert row == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize(
    "name", ["num_prototypes_in_training", "num_prototypes", "num_clusters", "confident_nodes"]
)
def test_counts_are_as_recorded(found, recorded, name):
    assert found[name] == recorded[name]


if __name__ == "__main__":
    text = json.dumps(short_run(), indent=2) + "\n"
    match sys.argv[1:]:
        case ["--print"]:
            sys.stdout.write(text)
        case ["--regenerate"]:
            RECORD.write_text(text, encoding="utf-8")
        case _:
            sys.exit("usage: python tests/golden/test_golden.py --print | --regenerate")

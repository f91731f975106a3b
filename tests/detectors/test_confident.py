import sys

import pytest
import torch

from brgcl.detectors.confident import judge_confidently
from brgcl.detectors.registry import DETECTORS
from brgcl.errors import InputError


def test_a_label_that_contradicts_a_confident_prediction_is_an_error():
    sure = torch.tensor([[0.9, 0.1]] * 10 + [[0.1, 0.9]] * 10 + [[0.5, 0.5]])
    labels = torch.tensor([0] * 9 + [1] + [1] * 9 + [0] + [-1])
    found = judge_confidently(sure, labels)
    assert found.nodes.tolist() == list(range(20))
    assert found.is_error.nonzero().flatten().tolist() == [9, 19]
    assert found.suggested[[9, 19]].tolist() == [0, 1]
    assert found.score[[0, 9]].tolist() == pytest.approx([0.9, 0.1])
    assert found.error_rate == pytest.approx(0.1)


def test_without_cleanlab_the_message_says_how_to_get_it(monkeypatch):
    for module in ("cleanlab", "cleanlab.count"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=r"pip install 'brgcl\[interop\]'"):
        DETECTORS["confident-gcn"].run(None, torch.tensor([0, 1]))

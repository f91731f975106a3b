"""One tried setting: when it is pruned, and what is kept of it."""

from brgcl import BRGCLConfig
from brgcl.method.inputs import prepare
from brgcl.tune.criteria import Score
from brgcl.tune.tried_setting import TuningTask, check_epochs, set_against, train_and_score


def test_pruning_looks_at_the_score_after_the_warm_up():
    assert check_epochs(BRGCLConfig(epochs=100, warmup_epochs=50)) == [66, 83]
    assert check_epochs(BRGCLConfig(epochs=2, warmup_epochs=1)) == []


def test_a_hopeless_setting_stops_early(data, labels, tiny):
    task = TuningTask(prepare(data), labels, tiny)
    seen = []
    outcome = train_and_score(
        task, (0.1, 0.3), after_epoch=lambda e: seen.append(e.epoch), hopeless=lambda e, s: True
    )
    assert seen == [1, 2] == list(range(1, check_epochs(tiny)[0] + 1))
    assert outcome.score is None
    stopped = set_against(Score((1.0, 0.0)), (0.1, 0.3), outcome, tiny)
    assert stopped.pruned
    assert stopped.gain_error is None

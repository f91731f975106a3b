"""One draw: let a detector judge the labels that it may see, and compare with the truth."""

from dataclasses import dataclass
from typing import Any

from brgcl.contract import Fitted, Reporter
from brgcl.detectors.contract import Detected
from brgcl.detectors.registry import find_detector
from brgcl.evaluation.protocol import NoisyGraph
from brgcl.tasks.metrics import calibration_error, detection_scores


@dataclass(frozen=True)
class Detection:
    """What a detector says on one draw, and how good it is."""

    detected: Detected
    metrics: dict[str, float]  # empty without a truth


def detect_one(
    noisy: NoisyGraph,
    detector: str,
    config: Any,
    seed: int,
    fitted: Fitted | None = None,
    report: Reporter | None = None,
) -> Detection:
    """Judge the training labels, as noisy as they are; validation labels are not read.

    Metrics are those of `detection_scores`, and besides

    - `error_rate_error`: distance of the estimated share of wrong labels from the true one; a
      detector that makes no estimate is taken at the share that it flags;
    - `calibration_error` of the score, where it is meant as a probability.

    Args:
        noisy: The draw.
        detector: Name of the detector.
        config: Settings of its method; None for the usual ones.
        seed: Seed of its randomness.
        fitted: What its method has learned without labels; trained now where it is needed.
        report: Called now and then.
    """
    entry = find_detector(detector)
    found = entry.run(
        noisy.graph, noisy.labels.train, seed=seed, config=config, fitted=fitted, report=report
    )
    truth = noisy.truth.y[found.nodes]
    if not bool((truth >= 0).any()):
        return Detection(found, {})
    known = truth >= 0
    wrong = noisy.labels.train[found.nodes] != truth
    metrics = detection_scores(found.score[known], found.is_error[known], wrong[known])
    estimate = found.error_rate
    if estimate is None:
        estimate = float(found.is_error.double().mean())
    metrics["error_rate_error"] = abs(estimate - float(wrong[known].double().mean()))
    if entry.is_probability:
        metrics["calibration_error"] = calibration_error(found.score[known], ~wrong[known])
    return Detection(found, metrics)

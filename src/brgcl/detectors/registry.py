"""Every detector, ours among them, behind one dict."""

from brgcl.detectors import brgcl, confident, graph_cleaner, nearest, neighbours, small_loss
from brgcl.detectors.contract import Detector
from brgcl.errors import check_name

DETECTORS: dict[str, Detector] = {
    detector.name: detector
    for detector in (
        brgcl.DETECTOR, brgcl.SMOOTH, confident.GCN, confident.MLP, confident.SMOOTH,
        small_loss.DETECTOR, neighbours.DETECTOR, nearest.DETECTOR, graph_cleaner.DETECTOR,
    )
}  # fmt: skip


def find_detector(name: str) -> Detector:
    """Return the detector of this name.

    Raises:
        InputError: There is no such detector; the message names the nearest one.
    """
    check_name("detector", name, DETECTORS)
    return DETECTORS[name]

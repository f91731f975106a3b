"""Every method, ours among them, behind one dict."""

from brgcl.baselines import brgcl, gcn
from brgcl.baselines.contract import Fitted as Fitted
from brgcl.baselines.contract import Method as Method
from brgcl.baselines.contract import ObservedLabels as ObservedLabels
from brgcl.config import BRGCLConfig

METHODS: dict[str, Method] = {
    "brgcl": Method(
        fit=brgcl.fit,
        Config=BRGCLConfig,
        kind="representation",
        citation="Wang & Yang, Bayesian Robust Graph Contrastive Learning, 2022",
        uses_labels=False,
        oracle="",
        cost="time O(N² D) exact or O(N m D) with m sampled negatives; memory O(E + N D)",
    ),
    "gcn": Method(
        fit=gcn.fit,
        Config=gcn.GCNConfig,
        kind="classifier",
        citation="Kipf & Welling, Semi-Supervised Classification with GCNs, ICLR 2017",
        uses_labels=True,
        oracle="",
        cost="time and memory O(E h + N F h)",
    ),
}

"""Names of the detectors and what each does; importing this costs nothing.

A test compares them with `brgcl.detectors.registry`.
"""

DETECTORS = {
    "brgcl": "posterior of the true class from BRGCL, neighbours and the estimated noise",
    "smooth": "the same from smoothed attributes, nothing trained",
    "confident-gcn": "confident learning (cleanlab) on a GCN",
    "confident-mlp": "confident learning (cleanlab) on a perceptron, which reads no edges",
    "confident-smooth": "confident learning (cleanlab) on a regression on smoothed attributes",
    "small-loss": "mean training loss of a GCN",
    "neighbours": "share of the labelled neighbours with the same label",
    "nearest": "share of the nearest nodes in BRGCL's space with the same label",
    "graph-cleaner": "a classifier trained on synthetic mislabels, after GraphCleaner",
}

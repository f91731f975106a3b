"""Names that are checked before anything heavy is loaded; a test compares them with the code."""

METHODS = (
    "brgcl", "brgcl-paper", "gcn", "gcn-wide", "mlp", "s2gc", "gce", "nrgnn", "co-teaching",
    "self-training", "brgcl-joint", "sce", "forward", "jocor", "clnode", "unionnet", "erase",
    "kmeans", "smooth", "random-gcn", "s2gc-features", "gae", "arga", "arvga", "gala", "cca-ssg",
    "grace", "dgi",
    "mvgrl", "bgrl", "graphmae",
)  # fmt: skip

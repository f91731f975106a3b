"""Compare methods on a graph whose truth is known: the same noise for all, several draws.

`brgcl.evaluate` corrupts the labels, trains, chooses by the protocol and scores the test nodes. The
graph is a generated one; the name of a data set, "cora" for example, takes a public one.
"""

import brgcl
from brgcl.methods import METHODS

data = brgcl.make_graph(num_nodes=500, num_classes=4, num_features=300)
small = {"epochs": 30, "warmup_epochs": 15, "hidden": 64, "dim": 32}

print("method    accuracy   spread   draws")
for method in ("gcn", "smooth", "brgcl"):
    config = METHODS[method].config(**small if method == "brgcl" else {})
    results = brgcl.evaluate(
        data, method, config=config, noise="symmetric:0.4", protocol="no-val", seeds=3
    )
    found = results.summary()
    print(f"{method:8}{found['accuracy_mean']:10.3f}{found['accuracy_std']:9.3f}{found['n']:8}")

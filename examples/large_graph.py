"""A graph whose training does not fit into memory in one step: train by parts.

This happens by itself when a step over the whole graph would take more than `memory_budget`. Here
the budget is set very low, so that a small graph is divided, too. docs/scale.md has the details.
"""

import torch

import brgcl
from brgcl.tasks.metrics import accuracy

data = brgcl.make_graph(num_nodes=3000, num_classes=5, num_features=150)
small = {"hidden": 64, "dim": 32, "epochs": 10, "warmup_epochs": 5, "lr": 5e-3}

whole = brgcl.BRGCL(**small).fit(data)
parts = brgcl.BRGCL(memory_budget=0.002, num_partitions=6, **small).fit(data)  # 2 MB

# The representations are those of all nodes, in the order of the graph, either way.
labels = torch.where(data.train_mask, data.y, -1)
test, truth = data.test_mask, data.y[data.test_mask]
for name, model in {"in one step": whole, "by parts": parts}.items():
    z = model.transform(data)
    predicted = brgcl.NodeClassifier().fit(z, labels, graph=data).predict(z)
    share = accuracy(predicted[test], truth)
    print(f"trained {name}: {z.shape[0]} nodes, test nodes classified right: {share:.0%}")

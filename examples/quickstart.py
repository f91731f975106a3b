"""Learn representations without labels, then classify, cluster and save.

Run it with `python examples/quickstart.py`. The settings are small so that it takes seconds;
`brgcl.BRGCL()` without arguments is what you want on a graph of your own.
"""

import tempfile
from pathlib import Path

import torch

import brgcl

# A generated graph: 300 papers of 3 topics, a bag of words each, 60 of them with a label.
data = brgcl.make_graph(num_nodes=300, num_classes=3, num_features=200)
edges = data.edge_index.shape[1] // 2
print(f"graph: {data.num_nodes} nodes, {edges} edges, {data.x.shape[1]} attributes")

# No label is read here.
model = brgcl.BRGCL(hidden=32, dim=16, epochs=20, warmup_epochs=10, lr=5e-3, xi=1.0).fit(data)
z = model.transform(data)
print(f"representations: {z.shape[0]} x {z.shape[1]}, unit length")
print(f"clusters found without labels: {model.num_clusters_}")
print(f"nodes confident in their cluster: {model.confident_.float().mean():.0%}")

# A classifier needs the labels of some nodes; -1 means that there is none.
labels = torch.where(data.train_mask, data.y, -1)
classifier = brgcl.NodeClassifier().fit(z, labels, graph=data)
right = classifier.predict(z)[data.test_mask] == data.y[data.test_mask]
print(f"classifier chosen: {classifier.rule_}")
print(f"test nodes classified right: {right.float().mean():.0%}")

# As many clusters as you like, by K-means on the same representations.
print(f"sizes of 3 clusters: {sorted(torch.bincount(model.cluster(k=3)).tolist())}")

# A saved model is safetensors and JSON; loading it runs no code.
with tempfile.TemporaryDirectory() as folder:
    model.save(Path(folder) / "model")
    again = brgcl.BRGCL.load(Path(folder) / "model")
print(f"loaded model gives the same representations: {torch.equal(again.transform(data), z)}")

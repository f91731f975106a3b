"""Vectors without a graph: link nearest neighbours, then do what you would do with a graph.

The vectors here are the pixels of 1,797 written digits that come with scikit-learn. Embeddings of
texts or images from any network work the same way.
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import brgcl

digits = load_digits()
rng = np.random.default_rng(0)
labelled = rng.permutation(len(digits.target))[:200]
given = np.full(len(digits.target), -1)
given[labelled] = digits.target[labelled]
wrong = labelled[:60]  # every third label is a random digit
given[wrong] = (given[wrong] + rng.integers(1, 10, size=60)) % 10

scaled = digits.data / 16
data = brgcl.knn_graph(scaled, given, k=10)
print(f"graph: {data.num_nodes} nodes, {data.num_edges // 2} edges")

z = brgcl.BRGCL(hidden=64, dim=32, epochs=20, warmup_epochs=10).fit(data).transform(data)
labels = torch.as_tensor(given)
ours = brgcl.NodeClassifier().fit(z, labels, graph=data).predict(z)
plain = LogisticRegression().fit(scaled[labelled], given[labelled])

# The truth enters here, and nowhere above.
hidden = np.setdiff1d(np.arange(len(given)), labelled)
truth = digits.target[hidden]
print(f"classified right by brgcl: {np.mean(ours.numpy()[hidden] == truth):.0%}")
print(f"by logistic regression on pixels: {np.mean(plain.predict(scaled)[hidden] == truth):.0%}")

"""Find the labels that are probably wrong, and see how many of them are.

Here the wrong labels are made on purpose, so that the answer can be checked. On a graph of your
own you would look through the list from the top.
"""

import torch

import brgcl
from brgcl.noise import flip_labels

data = brgcl.make_graph(num_nodes=300, num_classes=3, num_features=200)
noisy = flip_labels(
    torch.where(data.train_mask, data.y, -1),
    "symmetric",
    0.3,
    num_classes=3,
    generator=torch.Generator().manual_seed(0),
)
print(f"labels given: {int(data.train_mask.sum())}, wrong: {int(noisy.flipped.sum())}")

# The representation does not see the labels, so the wrong ones cannot bend it.
model = brgcl.BRGCL(hidden=32, dim=16, epochs=20, warmup_epochs=10, lr=5e-3, xi=1.0)
z = model.fit(data).transform(data)

# One row per labelled node, the most suspicious first. The score is the probability that the given
# label is right, and the evidence says what the nodes around it are.
found = brgcl.find_label_errors(z, noisy.labels, graph=data)
columns = ["node", "given", "suggested", "score", "is_error"]
print(found[columns].head(5).to_string(index=False, float_format="%.3f"))
print(f"node {found['node'][0]}: {found['evidence'][0]}")
low, high = found.attrs["error_interval"]
print(f"share of wrong labels: {found.attrs['estimated_error_rate']:.2f} ({low:.2f} to {high:.2f})")

flagged = found[found["is_error"]]
wrong = noisy.flipped[torch.tensor(flagged["node"].to_numpy())]
print(f"labels flagged as wrong: {len(flagged)}, of these really wrong: {int(wrong.sum())}")

# What a reviewer who checks as many labels as are wrong would find.
top = found.head(int(noisy.flipped.sum()))
hits = noisy.flipped[torch.tensor(top["node"].to_numpy())]
print(f"really wrong among the {len(top)} lowest scores: {int(hits.sum())}")

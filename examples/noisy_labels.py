"""Classify in spite of wrong labels: one representation, ever noisier labels.

The representation is learned once, because it does not depend on labels. A GCN has to be trained
again for every set of labels. Both see the same wrong ones, and no clean validation labels. One
generated graph and one draw show how it is done; docs/results.md compares methods on real graphs.
"""

import torch

import brgcl
from brgcl.contract import ObservedLabels
from brgcl.methods import METHODS
from brgcl.noise import flip_labels
from brgcl.tasks.metrics import accuracy

data = brgcl.make_graph(num_nodes=1000, num_classes=7, seed=1)
z = brgcl.BRGCL(epochs=30, warmup_epochs=15).fit(data).transform(data)
true_labels = torch.where(data.train_mask, data.y, -1)
gcn = METHODS["gcn"]

print("wrong labels   brgcl     gcn")
for level in (0.0, 0.2, 0.4):
    generator = torch.Generator().manual_seed(0)
    noisy = flip_labels(true_labels, "symmetric", level, num_classes=7, generator=generator)

    ours = brgcl.NodeClassifier().fit(z, noisy.labels, graph=data).predict(z)

    observed = ObservedLabels(train=noisy.labels, validation=None, num_classes=7)
    fitted = gcn.fit(data, observed, gcn.config(), torch.Generator().manual_seed(0))
    theirs = fitted.probabilities.argmax(1)

    # The truth enters here, and nowhere above.
    test, truth = data.test_mask, data.y[data.test_mask]
    print(
        f"{noisy.realised:12.0%}"
        f"{accuracy(ours[test], truth):8.0%}"
        f"{accuracy(theirs[test], truth):8.0%}"
    )

"""Classify in spite of wrong labels: one representation, ever noisier labels.

The representation is learned once, because it does not depend on labels. A GCN has to be trained
again for every set of labels. Both see the same wrong ones, and no clean validation labels. One
small graph and one draw show how it is done; they do not show which method is better.
"""

import torch

import brgcl
from brgcl.contract import ObservedLabels
from brgcl.methods import METHODS
from brgcl.noise import flip_labels
from brgcl.tasks.metrics import accuracy

NUM_CLASSES = 3
data = brgcl.make_graph(num_nodes=300, num_classes=NUM_CLASSES, num_features=200, seed=1)
model = brgcl.BRGCL(hidden=32, dim=16, epochs=20, warmup_epochs=10, lr=5e-3, xi=1.0)
z = model.fit(data).transform(data)
true_labels = torch.where(data.train_mask, data.y, -1)
gcn = METHODS["gcn"]

print("wrong labels   brgcl     gcn")
for level in (0.0, 0.2, 0.4):
    generator = torch.Generator().manual_seed(0)
    noisy = flip_labels(
        true_labels, "symmetric", level, num_classes=NUM_CLASSES, generator=generator
    )

    classifier = brgcl.NodeClassifier("centroid").fit(z, noisy.labels)
    ours = classifier.predict(z)

    observed = ObservedLabels(train=noisy.labels, validation=None, num_classes=NUM_CLASSES)
    fitted = gcn.fit(data, observed, gcn.Config(epochs=100), torch.Generator().manual_seed(0))
    theirs = fitted.probabilities.argmax(1)

    # The truth enters here, and nowhere above.
    test, truth = data.test_mask, data.y[data.test_mask]
    print(
        f"{noisy.realised:12.0%}"
        f"{accuracy(ours[test], truth):8.0%}"
        f"{accuracy(theirs[test], truth):8.0%}"
    )

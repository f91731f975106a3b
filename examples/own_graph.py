"""Your own graph: three files with your own ids in, predictions for the same ids out.

The files are written first, so that the example runs anywhere. Put your own paths in their place.
"""

import tempfile
from pathlib import Path

import pandas as pd

import brgcl

folder = Path(tempfile.mkdtemp(prefix="brgcl-example-"))
graph = brgcl.make_graph(num_nodes=200, num_classes=2, num_features=50)
ids = [f"paper-{number:03d}" for number in range(200)]

# edges.csv: two columns with ids. Direction and repeats do not matter.
source, target = graph.edge_index
pd.DataFrame({"source": [ids[i] for i in source], "target": [ids[i] for i in target]}).to_csv(
    folder / "edges.csv", index=False
)

# features.parquet: an id and numbers. CSV works too, and so does a matrix in .npy or .npz.
words = pd.DataFrame(graph.x.to_dense().numpy(), columns=[f"word{i}" for i in range(50)])
words.insert(0, "id", ids)
words.to_parquet(folder / "features.parquet", index=False)

# labels.csv: an id and any text. Nodes that are not listed are unlabelled.
names = ["biology", "physics"]
labelled = graph.train_mask.nonzero().flatten().tolist()
pd.DataFrame(
    {"id": [ids[i] for i in labelled], "topic": [names[graph.y[i]] for i in labelled]}
).to_csv(folder / "labels.csv", index=False)

data = brgcl.read_graph(
    edges=folder / "edges.csv",
    features=folder / "features.parquet",
    labels=folder / "labels.csv",
)
print(f"read: {data.num_nodes} nodes, {int((data.y >= 0).sum())} labelled, {data.class_names}")

model = brgcl.BRGCL(hidden=32, dim=16, epochs=20, warmup_epochs=10, lr=5e-3, xi=1.0).fit(data)
z = model.transform(data)
classifier = brgcl.NodeClassifier("logistic").fit(z, data.y, graph=data)
probability, predicted = classifier.predict_proba(z).max(1)

table = pd.DataFrame(
    {
        "id": data.node_ids,
        "topic": [data.class_names[c] for c in predicted],
        "probability": probability.numpy(),
        "confidence": model.confidence_.numpy(),
    }
)
table.to_csv(folder / "predictions.csv", index=False)
print(table.head(3).to_string(index=False, float_format="%.2f"))
print(f"written: {folder / 'predictions.csv'}")

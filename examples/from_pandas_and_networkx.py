"""A graph that is in memory already: data frames, NetworkX, and back again."""

import networkx
import pandas as pd

import brgcl

# Frames: edges, one row of attributes for each id, and labels for some ids.
club = networkx.karate_club_graph()
edges = pd.DataFrame(club.edges(data="weight"), columns=["source", "target", "weight"])
degrees = pd.Series(dict(club.degree(weight="weight")), name="meetings")
triangles = pd.Series(networkx.triangles(club), name="triangles")
features = pd.concat([degrees, triangles], axis=1)  # the index holds the ids
labels = pd.Series({0: "Mr. Hi", 1: "Mr. Hi", 33: "Officer", 32: "Officer"})

data = brgcl.from_pandas(edges, features, labels, weight="weight")
print(f"from frames: {data.num_nodes} nodes, {data.num_edges // 2} edges, {data.class_names}")

# NetworkX: without attributes every node is known by its place.
data = brgcl.from_networkx(club, label="club", weight="weight")
print(f"from NetworkX: {data.num_nodes} nodes, {data.num_features} attributes")

model = brgcl.BRGCL(hidden=32, dim=16, epochs=30, warmup_epochs=15).fit(data)
clusters = model.cluster(k=2)
table = pd.DataFrame({"club": [data.class_names[c] for c in data.y], "cluster": clusters})
print(pd.crosstab(table.club, table.cluster).to_string())

# And back to frames, with the same ids.
edges, nodes = brgcl.to_pandas(data)
print(f"back: {len(edges)} edges, {len(nodes)} nodes")

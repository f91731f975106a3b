"""The method from its parts: one epoch of Algorithm 1 in plain sight, then the same by `fit`.

Every step is a function of `brgcl.method`; docs/equations.md says which equation it is.
"""

import torch
import torch.nn.functional as F

import brgcl
from brgcl.method.attributes import learn_preparation
from brgcl.method.centering import center_rows
from brgcl.method.confidence import confidence, confident_nodes, propagate, threshold
from brgcl.method.dpmeans import dp_means
from brgcl.method.encoder import Encoder
from brgcl.method.graph import Graph, adjacency_from_edges
from brgcl.method.node_loss import node_loss
from brgcl.method.prototypes import prototype_loss, robust_prototypes
from brgcl.method.train import representation_loss
from brgcl.method.views import two_views

config = brgcl.BRGCLConfig(hidden=32, dim=16, epochs=20, warmup_epochs=10, lr=5e-3, xi=1.0)
data = brgcl.make_graph(num_nodes=300, num_classes=3, num_features=200)
graph = Graph(
    x=learn_preparation(data.x).apply(data.x),
    adjacency=adjacency_from_edges(data.edge_index, data.num_nodes),
)
A, A_tilde = graph.adjacency.normalized, graph.adjacency.transition

generator = torch.Generator().manual_seed(config.seed)
encoder = Encoder(graph.x.shape[1], hidden=config.hidden, dim=config.dim, generator=generator)
optimizer = torch.optim.Adam(encoder.parameters(), lr=config.lr)
centers = None
for t in range(1, config.epochs + 1):
    # Two views of the graph, each with something missing; contrast the nodes between them.
    view1, view2 = two_views(graph, config.views, generator)
    h1 = encoder(graph.x, view1.adjacency, view1.columns)
    h2 = encoder(graph.x, view2.adjacency, view2.columns)
    node, proto = node_loss(h1, h2, tau=config.tau), None

    if t > config.warmup_epochs:
        h = F.normalize(encoder(graph.x, A), dim=1)
        with torch.no_grad():
            # Pseudo labels, and their number K, from the data.
            clusters = dp_means(h, config.xi, centers=centers, max_rounds=config.cluster_rounds)
            centers, label, K = clusters.centers, clusters.assignment, clusters.num_clusters
            # A node is confident when its neighbourhood agrees with its pseudo label.
            soft = propagate(label, K, A_tilde, config.alpha, config.propagation_steps)
            own = confidence(soft, label)
            trusted = confident_nodes(own, threshold(t, config.epochs, config.gamma0))
            # Prototypes are means of confident nodes only.
            prototypes = F.normalize(robust_prototypes(h, label, trusted, K), dim=1)
        proto = prototype_loss(h, label, prototypes, config.proto_tau)
        print(f"epoch {t}: K {K}, confident {trusted.float().mean():.0%}")

    loss = representation_loss(node, proto, config.node_weight, config.proto_weight)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

with torch.no_grad():
    h = F.normalize(encoder(graph.x, A), dim=1)
    by_hand = center_rows(h, h.mean(0))
by_fit = brgcl.BRGCL.from_config(config).fit(data).representations_
print(f"largest difference to BRGCL.fit: {(by_hand - by_fit).abs().max():.0e}")

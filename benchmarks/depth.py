"""What the depth of the encoder is decided by, on public and on generated graphs.

    python benchmarks/depth.py cora citeseer pubmed coauthor-cs h0.5-d50-c7

Prints the lead of neighbours over wider surroundings (`method/depth.py`), its mean in standard
errors, and the number of layers. Names of graphs are those of `benchmarks/label_noise_ladder.py`,
which compares the accuracy of encoders of different depth.
"""

import argparse

from brgcl.config import BRGCLConfig
from brgcl.method.depth import lead_of_neighbours, with_depth
from brgcl.method.inputs import prepare
from label_noise_ladder import load


def main() -> None:
    """Print one line for each graph."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--seed", type=int, default=100, help="of generated graphs")
    options = parser.parse_args()
    print(f"{'graph':14s} {'nodes':>6s} {'mean lead':>10s} {'errors':>7s} {'layers':>7s}")
    for name in options.graphs:
        graph = prepare(load(name, options.seed))
        x, transition = graph.x, graph.adjacency.transition
        lead = lead_of_neighbours(x, transition)
        mean, error = float(lead.mean()), float(lead.std()) / len(lead) ** 0.5
        layers = with_depth(BRGCLConfig(), x, transition).num_layers
        print(f"{name:14s} {len(lead):6d} {mean:10.3f} {mean / error:7.1f} {layers:7d}")


if __name__ == "__main__":
    main()

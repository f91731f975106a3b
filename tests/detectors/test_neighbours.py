import torch

from brgcl.detectors.neighbours import neighbour_votes


def test_votes_are_those_of_a_count_by_hand():
    generator = torch.Generator().manual_seed(3)
    N, C = 30, 3
    labels = torch.randint(-1, C, (N,), generator=generator)
    labels[0] = C - 1
    ends = torch.randint(0, N, (2, 80), generator=generator)  # loops and repeats among them
    edges = torch.cat([ends, ends.flip(0)], dim=1)
    wanted = []
    for node in range(N):
        if labels[node] >= 0:
            around = {b for a, b in edges.T.tolist() if a == node and b != node}
            wanted.append([sum(int(labels[j]) == c for j in around) for c in range(C)])
    assert neighbour_votes(edges, labels).tolist() == wanted

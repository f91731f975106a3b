import pytest
import torch

from brgcl.detectors import nearest
from brgcl.detectors.nearest import nearest_votes


@pytest.mark.parametrize("block", [7, 1024])
def test_votes_are_those_of_a_search_by_hand(block, monkeypatch):
    monkeypatch.setattr(nearest, "BLOCK", block)
    generator = torch.Generator().manual_seed(1)
    z = torch.randn(40, 5, generator=generator)
    labels = torch.randint(-1, 3, (40,), generator=generator)
    labels[0] = 2
    known = (labels >= 0).nonzero().squeeze(1).tolist()
    wanted = []
    for i in known:
        others = [j for j in known if j != i]
        others.sort(key=lambda j: -float(torch.cosine_similarity(z[i], z[j], dim=0)))
        wanted.append([sum(int(labels[j]) == c for j in others[:4]) for c in range(3)])
    assert nearest_votes(z, labels, k=4).tolist() == wanted


def test_all_others_vote_where_they_are_few():
    votes = nearest_votes(torch.eye(4), torch.tensor([0, 1, 1, -1]), k=10)
    assert votes.tolist() == [[0, 2], [1, 1], [1, 1]]

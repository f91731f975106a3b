import pytest
import torch

from brgcl.data.splits import citation_split, random_split
from brgcl.errors import InputError


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_every_class_gives_the_same_numbers_and_the_rest_tests():
    y = torch.tensor([0] * 10 + [1] * 7 + [-1] * 3)
    split = random_split(y, num_train_per_class=3, num_val_per_class=2, generator=rng())
    assert torch.bincount(y[split.train]).tolist() == [3, 3]
    assert torch.bincount(y[split.val]).tolist() == [2, 2]
    assert torch.bincount(y[split.test]).tolist() == [5, 2]
    assert (split.train.long() + split.val.long() + split.test.long()).tolist() == [1] * 17 + [
        0
    ] * 3


def test_same_generator_same_split_other_seed_other_split():
    y = torch.arange(100) % 4
    first, again, other = (
        random_split(y, num_train_per_class=5, num_val_per_class=5, generator=rng(seed))
        for seed in (0, 0, 1)
    )
    assert torch.equal(first.train, again.train)
    assert not torch.equal(first.train, other.train)


def test_every_node_of_a_class_is_drawn_equally_often():
    y = torch.tensor([0, 1, 0, 0, 1, 0])
    drawn = torch.zeros(6)
    for seed in range(2000):
        split = random_split(y, num_train_per_class=1, num_val_per_class=0, generator=rng(seed))
        drawn += split.train
    assert torch.allclose(drawn / 2000, torch.tensor([0.25, 0.5, 0.25, 0.25, 0.5, 0.25]), atol=0.05)


def test_class_that_is_too_small_is_named():
    with pytest.raises(InputError, match=r"class 1 has 2 labelled nodes but the split takes 3"):
        random_split(
            torch.tensor([0, 0, 0, 1, 1]),
            num_train_per_class=2,
            num_val_per_class=1,
            generator=rng(),
        )


def test_negative_number_is_refused():
    with pytest.raises(InputError, match="num_val_per_class must be 0 or more, got -1"):
        random_split(
            torch.tensor([0]), num_train_per_class=0, num_val_per_class=-1, generator=rng()
        )


def test_citation_split_shrinks_with_the_graph():
    y = torch.tensor([0] * 8 + [1] * 3 + [-1])
    split = citation_split(y, num_train_per_class=20, num_val=500, generator=rng())
    assert torch.bincount(y[split.train]).tolist() == [4, 1]
    assert int(split.val.sum()) == 3
    assert int(split.test.sum()) == 3
    assert not bool((split.train | split.val | split.test)[-1])


def test_all_unlabelled_gives_empty_masks():
    y = torch.full((5,), -1)
    for split in (
        random_split(y, num_train_per_class=1, num_val_per_class=1, generator=rng()),
        citation_split(y, num_train_per_class=1, num_val=1, generator=rng()),
    ):
        assert not bool((split.train | split.val | split.test).any())

import torch
import torch.nn.functional as F

from brgcl.data import check_graph, make_graph
from brgcl.detectors.registry import DETECTORS
from brgcl.detectors.small_loss import larger_of_two


def test_the_larger_of_two_heaps_is_found():
    generator = torch.Generator().manual_seed(0)
    low = 0.3 + 0.05 * torch.randn(80, generator=generator)
    high = 2 + 0.2 * torch.randn(20, generator=generator)
    assert larger_of_two(torch.cat([low, high])).nonzero().flatten().tolist() == list(
        range(80, 100)
    )


def test_equal_losses_are_no_errors():
    assert not larger_of_two(torch.full((5,), 0.7)).any()


def test_one_epoch_has_the_loss_of_the_first_weights():
    """With one epoch and no dropout the mean loss is that of the untrained network."""
    from brgcl.baselines.shared.gcn_training import make_gcn, run_gcn
    from brgcl.method.inputs import prepare
    from brgcl.noise.graph import generator_for

    graph = check_graph(make_graph(40, num_classes=2, num_features=20))
    detector = DETECTORS["small-loss"]
    config = detector.config(epochs=1, dropout=0.0)
    found = detector.run(graph, graph.y, config=config, seed=3)
    prepared = prepare(graph)
    network = make_gcn(prepared, config, 2, generator_for(3, "detection"))
    loss = F.cross_entropy(run_gcn(network, prepared)[1], graph.y, reduction="none")
    assert torch.allclose(found.score, torch.exp(-loss), atol=1e-6)

"""What `fit` says before it begins: choices that were made for the user, and likely mistakes."""

import logging

from brgcl.config import BRGCLConfig
from brgcl.method.train import num_layers, num_negatives

log = logging.getLogger("brgcl")


def tell_choices(
    config: BRGCLConfig, num_nodes: int, num_features: int, *, weighted: bool = False
) -> None:
    """Say in the log what was chosen for a graph of this size, `weighted` if its edges are."""
    _tell_negatives(config, num_nodes)
    _tell_warmup(config)
    _tell_layers(config, num_nodes, num_features)
    if weighted and config.encoder != "gcn":
        log.warning(
            "edge weights are read by the encoder 'gcn' alone; '%s' takes all edges alike",
            config.encoder,
        )


def _tell_negatives(config: BRGCLConfig, num_nodes: int) -> None:
    """Say when a sample of nodes was chosen for the node contrast instead of all."""
    if config.node_objective == "decorrelation":
        return
    m = num_negatives(config, num_nodes)
    if config.num_negatives == "auto" and m is not None:
        log.info(
            "contrasting with %s of the %s nodes, drawn anew in each epoch; "
            "num_negatives=none takes all",
            f"{m:,}",
            f"{num_nodes:,}",
        )


def _tell_layers(config: BRGCLConfig, num_nodes: int, num_features: int) -> None:
    """Say when the encoder has one layer because attributes outnumber nodes."""
    if config.encoder == "own" or config.num_layers != "auto":
        return
    if num_layers(config, num_nodes, num_features) == 1:
        log.info(
            "encoding with one graph convolution, since %s attributes outnumber %s nodes; "
            "num_layers=2 takes two",
            f"{num_features:,}",
            f"{num_nodes:,}",
        )


def _tell_warmup(config: BRGCLConfig) -> None:
    """Say when training ends before prototypes join."""
    if config.warmup_epochs >= config.epochs and config.proto_weight != 0:
        log.warning(
            "prototypes never join: training has %d epochs and the warm-up %d; "
            "set warmup_epochs below epochs, or proto_weight=0 if this is meant",
            config.epochs,
            config.warmup_epochs,
        )

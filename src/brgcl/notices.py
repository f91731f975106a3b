"""What `fit` says before it begins: choices that were made for the user, and likely mistakes."""

import logging

from brgcl.config import BRGCLConfig
from brgcl.method.train import num_negatives

log = logging.getLogger("brgcl")


def tell_choices(config: BRGCLConfig, num_nodes: int, *, weighted: bool = False) -> None:
    """Say in the log what was chosen for a graph of this size, `weighted` if its edges are."""
    _tell_negatives(config, num_nodes)
    _tell_warmup(config)
    if weighted and config.encoder != "gcn":
        log.warning(
            "only the encoder 'gcn' reads edge weights; '%s' treats all edges alike",
            config.encoder,
        )


def _tell_negatives(config: BRGCLConfig, num_nodes: int) -> None:
    """Say when a sample of nodes was chosen for the node contrast instead of all."""
    if config.node_objective == "decorrelation":
        return
    m = num_negatives(config, num_nodes)
    if config.num_negatives == "auto" and m is not None and m < num_nodes:
        log.info(
            "contrasting with %s of the %s nodes, drawn anew in each epoch; "
            "num_negatives=none takes all",
            f"{m:,}",
            f"{num_nodes:,}",
        )


def tell_depth(
    config: BRGCLConfig, resolved: BRGCLConfig, num_nodes: int, num_features: int
) -> None:
    """Say when the encoder was given one layer, and why."""
    if config.num_layers == resolved.num_layers or resolved.num_layers != 1:
        return
    if num_features > num_nodes:
        why = f"{num_features:,} attributes outnumber {num_nodes:,} nodes"
    else:
        why = "neighbours tell more of a node's attributes than nodes further away"
    log.info("encoding with one graph convolution, since %s; num_layers=2 takes two", why)


def _tell_warmup(config: BRGCLConfig) -> None:
    """Say when training ends before prototypes join."""
    if config.warmup_epochs >= config.epochs and config.proto_weight != 0:
        log.warning(
            "prototypes are not used: training has %d epochs and the warm-up %d; "
            "set warmup_epochs below epochs, or proto_weight=0 if this is meant",
            config.epochs,
            config.warmup_epochs,
        )

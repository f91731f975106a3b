"""Train BRGCL in several processes, on one machine or many.

    torchrun --nproc-per-node 2 -m brgcl.distributed GRAPH --out RUN

takes the graph and options of `brgcl embed` and writes the same run folder, and --timeout: seconds
that ranks wait for each other in a step. Every rank must see RUN. What ranks share, and the
checkpoint, are kept in RUN/.training until the end: after a rank has died, the same command, or
torchrun with --max-restarts, goes on from there.
"""

import argparse
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from brgcl.cli.main import main as run

if TYPE_CHECKING:
    from brgcl.scale.ranks import Ranks


def main() -> NoReturn:
    """Run `brgcl embed` as one of the ranks that torchrun started."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--timeout", type=float, default=1800.0)
    own, others = parser.parse_known_args()
    sys.argv = ["brgcl", "embed", *others]
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")  # no stack beside the message
    run(partial(join, own.timeout))


def join(timeout: float) -> "Ranks":
    """Join the other ranks."""
    from brgcl.scale.ranks import join_ranks

    return join_ranks(timeout)


if __name__ == "__main__":
    main()

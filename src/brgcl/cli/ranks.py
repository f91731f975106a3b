"""`brgcl embed --ranks`: start the ranks, and what each of them does."""

import contextlib
import logging
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Exit

from brgcl.cli.console import talk
from brgcl.cli.options import EmbedOutput
from brgcl.cli.run_folder import TRAINING
from brgcl.errors import BrgclError, InputError

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from brgcl.config import BRGCLConfig
    from brgcl.scale.parts import PartGraph
    from brgcl.scale.ranks import Ranks


@dataclass(frozen=True)
class Together:
    """One of the ranks that run the command together.

    Attributes:
        ranks: All of them.
        folder: What they share until the end.
    """

    ranks: "Ranks"
    folder: Path

    @property
    def leads(self) -> bool:
        """Whether this rank opens the graph and writes the results."""
        return self.ranks.rank == 0

    def config(self, config: "BRGCLConfig", seed: int) -> "BRGCLConfig":
        """The settings with which ranks train."""
        from brgcl.scale.ranks import config_for_ranks

        return config_for_ranks(config, self.ranks).replace(seed=seed)

    def share(self, data: "Data | None", config: "BRGCLConfig") -> "PartGraph":
        """The graph by parts, in memory-mapped files that the leading rank writes."""
        from brgcl.scale.ranks import share_graph

        return share_graph(data, config, self.folder / "parts", self.ranks)

    @property
    def options(self) -> dict[str, Any]:
        """What a training needs to be one of several."""
        return {"checkpoint": self.folder / "checkpoint.safetensors", "processes": self.ranks}

    def output(self, output: EmbedOutput) -> EmbedOutput:
        """A run that was stopped may be finished in the same folder."""
        return replace(output, overwrite=output.overwrite or self.folder.is_dir())

    def follow(self, config: "BRGCLConfig", seed: int) -> None:
        """Train with the leading rank, from the first step to the last."""
        from brgcl.model import BRGCL

        talk(quiet=True, verbose=False)
        config = self.config(config, seed)
        BRGCL.from_config(config).fit(self.share(None, config), **self.options)
        self.leave()

    def leave(self) -> None:
        """End together, and remove what was shared."""
        from brgcl.scale.ranks import leave_ranks

        leave_ranks(self.ranks)
        if self.leads:
            shutil.rmtree(self.folder, ignore_errors=True)


def join(ranks: "Ranks", out: Path | None, method: str, checkpoint: Path | None) -> Together:
    """Take part in the command as one of the ranks.

    Raises:
        InputError: The method knows no ranks, or a checkpoint is named.
    """
    check_ranks(method, checkpoint)
    assert out is not None
    return Together(ranks, out / TRAINING)


def check_ranks(method: str, checkpoint: Path | None) -> None:
    """Check that ranks can run a command."""
    if method != "brgcl":
        raise InputError(f"{method} trains in one process; remove --ranks, or use brgcl")
    if checkpoint is not None:
        raise InputError(
            "ranks keep their own checkpoint in the folder of --out; remove --checkpoint"
        )


def start_ranks(number: int, arguments: Sequence[str]) -> None:
    """Run a command as several ranks on this machine, over its loopback device alone.

    Args:
        number: How many.
        arguments: The command line of `brgcl embed` without "embed"; `--ranks` is left out.

    Raises:
        BrgclError: A rank ended before its time.
    """
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    if sys.platform == "linux":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // number)))
    logging.getLogger("torch.distributed").setLevel(logging.CRITICAL)  # said in one line below
    launch = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=number,
        run_id="brgcl",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        max_restarts=0,
        monitor_interval=0.1,
    )
    command = ["-m", "brgcl.distributed", *without_ranks(arguments)]
    try:
        elastic_launch(launch, sys.executable)(*command)
    except SignalException as error:
        raise KeyboardInterrupt from error
    except ChildFailedError as error:
        if any(failure.exitcode == 2 for failure in error.failures.values()):
            raise Exit(2) from error  # the rank has said why
        raise BrgclError(describe_failure(error.failures)) from error


def describe_failure(failures: Any) -> str:
    """Say which rank ended first and how, preferring one that a signal ended."""
    order = sorted(failures.items(), key=lambda item: (item[1].exitcode >= 0, item[1].timestamp))
    rank, failure = order[0]
    how = f"with code {failure.exitcode}"
    if failure.exitcode < 0:
        how = f"by signal {-failure.exitcode}"
        with contextlib.suppress(ValueError):
            how = f"by {signal.Signals(-failure.exitcode).name}"
    return f"rank {rank} was ended {how}; the same command goes on from the last checkpoint"


def without_ranks(arguments: Sequence[str]) -> list[str]:
    """Leave out --ranks and its number.

    Example:
        >>> without_ranks(["demo", "--ranks", "2", "--out", "run", "--ranks=3"])
        ['demo', '--out', 'run']
    """
    left = []
    skip = False
    for argument in arguments:
        if skip or argument.startswith("--ranks="):
            skip = False
        elif argument == "--ranks":
            skip = True
        else:
            left.append(argument)
    return left

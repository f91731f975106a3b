"""Ranks on a Ray cluster, as many as are wanted, spread over its machines.

    python examples/cluster/ray_ranks.py 8 --edges edges.parquet --features x.npy --out /shared/run

All machines must see the files and the folder of --out. The same command, given again, goes on from
the last checkpoint.
"""

import os
import socket
import subprocess
import sys

import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

CORES = 4  # of each rank


@ray.remote(num_cpus=CORES, max_restarts=0)
class Rank:
    """One rank: an actor that runs the command as a process of its own."""

    def address(self) -> tuple[str, int]:
        """Where the ranks meet, if this is the first of them."""
        with socket.socket() as free:
            free.bind(("", 0))
            return ray.util.get_node_ip_address(), free.getsockname()[1]

    def run(self, environment: dict[str, str], arguments: list[str]) -> int:
        """Run the training as one of the ranks."""
        command = [sys.executable, "-m", "brgcl.distributed", *arguments]
        return subprocess.run(command, env=os.environ | environment, check=False).returncode


ray.init()
size, arguments = int(sys.argv[1]), sys.argv[2:]
group = placement_group([{"CPU": CORES}] * size, strategy="SPREAD")
ray.get(group.ready())
place = PlacementGroupSchedulingStrategy(placement_group=group)
ranks = [Rank.options(scheduling_strategy=place).remote() for _ in range(size)]
host, port = ray.get(ranks[0].address.remote())
known = {
    "MASTER_ADDR": host, "MASTER_PORT": str(port), "WORLD_SIZE": str(size), "LOCAL_RANK": "0",
    "OMP_NUM_THREADS": str(CORES),
}  # fmt: skip
codes = ray.get([r.run.remote({**known, "RANK": str(i)}, arguments) for i, r in enumerate(ranks)])
sys.exit(max(map(abs, codes)))

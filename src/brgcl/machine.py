"""What brgcl asks of the machine it runs on: threads that wait quietly, memory that is kept.

Importing this module, before torch is loaded, sets two variables unless they are set already:

OMP_WAIT_POLICY=PASSIVE lets OpenMP threads sleep while they wait for each other. By default they
spin, and where other programs use the cores too, each of many short parallel loops then costs a
time slice: training was several times slower on a busy machine.

THP_MEM_ALLOC_ENABLE=1 lets torch ask Linux for pages of 2 MB instead of 4 KB for large tensors.
Products with a graph's adjacency read rows all over a large matrix, and most of these reads missed
the table of small pages.
"""

import itertools
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from brgcl.errors import InputError

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # parameters of mallopt(3)
LIBRARIES = ("brgcl", "torch", "torch_geometric", "numpy", "scipy", "scikit-learn")


def keep_freed_memory() -> bool:
    """Let the process reuse freed memory; returns whether this system could be told so.

    By default glibc takes a large tensor straight from the system and gives it back when it is
    freed; the next one of the same size then costs a page fault for every 4 KB. Training makes
    and frees the same large tensors all the time, and spent most of its time on that.

    Holds for the whole process. Where the C library is not glibc nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(M_MMAP_MAX, 0)) and bool(mallopt(M_TRIM_THRESHOLD, 2**31 - 1))


def check_width(num_nodes: int, num_features: int, *widths: int) -> None:
    """Refuse a network, of layers of these widths, that cannot fit into the machine's memory."""
    sizes = num_features, *widths
    weights = sum(before * after for before, after in itertools.pairwise(sizes))
    # weights with gradients and two moments of Adam; outputs with gradients; 4 bytes each
    needed, available = 16 * weights + 8 * num_nodes * sum(widths), memory()
    if available is not None and needed > available:
        layers = ", ".join(f"{width:,}" for width in widths)
        raise InputError(
            f"layers of {layers} units need about {needed / 1e9:,.0f} GB on this graph, and this "
            f"machine has {available / 1e9:,.0f} GB; set smaller widths (hidden, dim)"
        )


def memory() -> int | None:
    """Memory of this machine in bytes; None if the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


@cache
def library_versions() -> dict[str, str]:
    """Return the versions of what computes a number."""
    from importlib.metadata import version

    return {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES}


@cache
def processor() -> str:
    """Return the name of the processor, or its architecture if the system does not tell more."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


@cache
def source_commit() -> str:
    """Return the commit of this source, "-dirty" if it was changed; its version if not in git."""
    from importlib.metadata import version

    here = Path(__file__).parent
    try:
        _git("ls-files", "--error-unmatch", __file__)  # not some other repository around it
        commit = _git("rev-parse", "HEAD").strip()
        return f"{commit}-dirty" if _git("status", "--porcelain", str(here)) else commit
    except (OSError, subprocess.SubprocessError):
        return version("brgcl")


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread, and with as many as before afterwards."""
    import torch
    from threadpoolctl import threadpool_limits

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(threads)


def forget_peak_memory() -> None:
    """Let the system count the peak memory of this process anew, where it can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> float | None:
    """Return the peak memory of this process in MB since the last reset; None if not known."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), None)

"""Where jobs run: in this process, in several on this machine, or on a Dask cluster."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from joblib import Parallel, delayed, parallel_config

from brgcl.errors import InputError

BACKENDS = ("local", "dask")

Job = TypeVar("Job")
Result = TypeVar("Result")


def spread(
    work: Callable[[Job], Result], jobs: Sequence[Job], workers: int, backend: str
) -> Iterator[Result]:
    """Do jobs, begun in this order, in several processes; yields each result once it is there.

    `work` must be picklable. A single local worker is this process; the workers of a Dask cluster
    must see the same folders.
    """
    if workers == 1 and backend == "local":
        yield from map(work, jobs)
        return
    with _dask() if backend == "dask" else nullcontext():
        pool = Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch=workers)
        yield from pool(delayed(work)(job) for job in jobs)


def _dask() -> AbstractContextManager[Any]:
    """Use the Dask client that there is, or start one on this machine."""
    try:
        from dask.distributed import Client, default_client
    except ImportError as error:
        raise InputError("Dask is not installed; pip install 'brgcl[cluster]'") from error
    try:
        default_client()
    except ValueError:
        Client()
    backend: AbstractContextManager[Any] = parallel_config(backend="dask")
    return backend

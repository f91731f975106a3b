"""Processes of their own that find torch and brgcl loaded: they are forked from one that has.

A fresh interpreter takes seconds to load them. Tests whose subject is not the loading get their
processes here; each has its own arguments, environment, streams and signals.
"""

import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WAIT = 300  # seconds for a process that has nothing left but to end
BRGCL = "import sys\nsys.argv[0] = 'brgcl'\nfrom brgcl.cli.main import main\nmain()"

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["torch.distributed", "brgcl.model", "brgcl.cli.app", "brgcl.benchmark.runner"]
)


class Process:
    """A program that runs in a process of its own."""

    def __init__(
        self, program: str, arguments: list[str], folder: Path, stdin: Path, more: dict[str, str]
    ) -> None:
        self.files = [folder / f"stream-{name}" for name in ("stdout", "stderr")]
        given = program, arguments, os.environ | more, [stdin, *self.files]
        self.child = CONTEXT.Process(target=_run, args=given)
        self.child.start()

    def poll(self) -> int | None:
        """Return the exit code, minus the number of the signal that killed it; None if it runs."""
        return self.child.exitcode

    def wait(self) -> int | None:
        self.child.join(WAIT)
        return self.poll()

    def send_signal(self, number: int) -> None:
        os.kill(self.child.pid, number)

    @property
    def streams(self) -> tuple[str, str]:
        """What was written to stdout and to stderr."""
        out, err = (file.read_text(encoding="utf-8") for file in self.files)
        return out, err


@contextmanager
def started(
    program: str, *arguments: object, folder: Path, stdin: Path = Path(os.devnull), **more: str
) -> Iterator[Process]:
    """Run a program as `python -W ignore -c` would, and whatever happens leave none behind.

    Args:
        program: Its text.
        arguments: What it finds in `sys.argv`, after the program's name.
        folder: Where its streams are kept, for this process alone.
        stdin: The file that it reads.
        more: Variables of its environment beside those of this process.
    """
    process = Process(program, [str(each) for each in arguments], folder, stdin, more)
    try:
        yield process
    finally:
        process.child.kill()
        process.child.join()


def _run(program: str, arguments: list[str], environment: dict[str, str], files: list[Path]):
    """Take the place of a fresh interpreter."""
    import torch

    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    sys.stdout.flush()
    sys.stderr.flush()
    for number, file in enumerate(files):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        opened = os.open(file, flags)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout, sys.stderr = (
        open(number, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        for number in (1, 2)
    )
    sys.argv = ["-c", *arguments]
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    exec(compile(program, "-c", "exec"), {"__name__": "__main__"})

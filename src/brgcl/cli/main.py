"""The entry of the command line: errors are one line, and codes say what kind they are.

0 all went well, 1 something failed, 2 the input is wrong, 130 the user stopped it. Nothing but
the standard library is imported here before `main` runs, so that Ctrl-C is heard from the start.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn


def main(join: Callable[[], Any] | None = None) -> NoReturn:
    """Run the command line; as one of several ranks if there is a function that joins them."""
    # NumPy's threads spin while they wait: on a busy machine small products took 15 times as long
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    debug = "--debug" in sys.argv
    handlers = _hear_ctrl_c()
    try:
        code = _run(sys.argv[1:], join)
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        if debug:
            raise
        code = _explain(error)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if hasattr(signal, "alarm"):
            signal.alarm(0)
    if code == 130:
        resumes = "--checkpoint" in sys.argv or sys.argv[1:3] == ["bench", "run"]
        more = "; the same command goes on from here" if resumes else ""
        sys.stderr.write(f"brgcl: stopped{more}\n")
    _flush()
    sys.exit(code)


def _hear_ctrl_c() -> dict[int, Any]:
    """Repeat Ctrl-C until it is heard: some libraries swallow it while they are imported."""

    def stop(number: int, frame: Any) -> NoReturn:
        if hasattr(signal, "alarm"):
            signal.alarm(3)
        raise KeyboardInterrupt

    numbers = [signal.SIGINT, *([signal.SIGALRM] if hasattr(signal, "SIGALRM") else [])]
    return {number: signal.signal(number, stop) for number in numbers}


def _run(arguments: list[str], join: Callable[[], Any] | None) -> int:
    from brgcl.cli.app import app
    from brgcl.cli.console import prepare_logging, prepare_streams

    prepare_streams()
    prepare_logging()
    code = app(arguments, prog_name="brgcl", standalone_mode=False, obj=join)
    return code if isinstance(code, int) else 0


def _explain(error: Exception) -> int:
    """Say in one line what went wrong; returns the exit code."""
    from brgcl.errors import BrgclError

    text, code = " ".join(str(error).split()), 2
    if hasattr(error, "format_message"):  # Typer's: the command line itself is wrong
        command = getattr(getattr(error, "ctx", None), "command_path", "brgcl")
        text = error.format_message().rstrip(".")
        if not text:  # a command without arguments has printed its help
            return 2
        text = f"{' '.join(text.split())}; {command} --help lists the options"
    elif isinstance(error, MemoryError):
        text, code = "there is not enough memory", 1
    elif not isinstance(error, BrgclError):
        text, code = f"failed, {type(error).__name__}: {text} (--debug shows where)", 1
    sys.stderr.write(f"brgcl: {text}\n")
    return code


def _flush() -> None:
    """Write out what is buffered; a reader that has closed the pipe is no error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

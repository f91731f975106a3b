"""How good a method is: which labels it may see, its scores, and their means over draws.

from brgcl.evaluate import evaluate

evaluate("cora", "brgcl", seeds=3).summary()
"""

from typing import TYPE_CHECKING, Any

from brgcl.evaluate.names import PROTOCOLS as PROTOCOLS
from brgcl.evaluate.names import SCORED_ON as SCORED_ON
from brgcl.evaluate.names import TASKS as TASKS

if TYPE_CHECKING:
    from brgcl.evaluate.evaluation import Evaluation as Evaluation
    from brgcl.evaluate.evaluation import Run as Run
    from brgcl.evaluate.evaluation import evaluate as evaluate

LAZY = ("Evaluation", "Run", "evaluate")


def __getattr__(name: str) -> Any:
    """Load torch and the methods only where they are needed."""
    if name not in LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from brgcl.evaluate import evaluation

    return getattr(evaluation, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *LAZY])

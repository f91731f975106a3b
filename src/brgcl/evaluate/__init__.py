"""How good a method is: which labels it may see, its scores, and their means over draws.

from brgcl.evaluate import evaluate

evaluate("cora", "brgcl", seeds=3).summary()
"""

from typing import TYPE_CHECKING

from brgcl.evaluate.names import PROTOCOLS as PROTOCOLS
from brgcl.evaluate.names import SCORED_ON as SCORED_ON
from brgcl.evaluate.names import TASKS as TASKS
from brgcl.lazy import lazy_names

if TYPE_CHECKING:
    from brgcl.evaluate.evaluation import Evaluation as Evaluation
    from brgcl.evaluate.evaluation import Run as Run
    from brgcl.evaluate.evaluation import evaluate as evaluate
else:
    __getattr__, __dir__ = lazy_names(__name__, {"evaluation": ["Evaluation", "Run", "evaluate"]})

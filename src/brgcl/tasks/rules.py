"""Names of the classifiers and of the ways to choose among them; importing this costs nothing."""

from typing import Literal, get_args

Rule = Literal[
    "auto", "best", "bayes", "bayes-clusters", "centroid", "logistic", "logistic+", "mlp", "probe"
]  # fmt: skip
RULES: tuple[Rule, ...] = get_args(Rule)
CHOICES: tuple[Rule, ...] = ("auto", "best")  # of the candidates
CANDIDATES: tuple[Rule, ...] = ("centroid", "logistic", "logistic+", "mlp")  # most cautious first
# what validation labels choose from under "auto", the default first, and then the attribute rules
AUTO_CANDIDATES: tuple[Rule, ...] = ("bayes", "bayes-clusters", "centroid", "logistic", "mlp")
ATTRIBUTE_RULES = ("attributes", "smoothed attributes")  # "bayes" fitted to attributes alone
SEES_ATTRIBUTES = (
    "bayes",
    "bayes-clusters",
    *ATTRIBUTE_RULES,
)  # under "auto"
FIXED_RULE: Rule = "centroid"  # where there are too few labels to choose by
SoftLabels = Literal["normalize", "softmax", "hard"]
SOFT_LABELS: tuple[SoftLabels, ...] = get_args(SoftLabels)

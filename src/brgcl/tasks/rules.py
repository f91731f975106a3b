"""Names of the classifiers and of the ways to choose among them; importing this costs nothing."""

from typing import Literal, get_args

Rule = Literal["auto", "best", "bayes", "centroid", "logistic", "logistic+", "mlp", "probe"]
RULES: tuple[Rule, ...] = get_args(Rule)
CHOICES: tuple[Rule, ...] = ("auto", "best")  # of the candidates
CANDIDATES: tuple[Rule, ...] = ("centroid", "logistic", "logistic+", "mlp")  # most cautious first
AUTO_CANDIDATES: tuple[Rule, ...] = ("bayes", "centroid", "logistic", "mlp")  # the default first
ATTRIBUTE_RULES = ("attributes", "smoothed attributes")  # what "auto" may take where edges mislead
SEES_ATTRIBUTES = ("bayes", *ATTRIBUTE_RULES)  # what "auto" fits to attributes too
FIXED_RULE: Rule = "centroid"  # where there are too few labels to choose by
SoftLabels = Literal["normalize", "softmax", "hard"]
SOFT_LABELS: tuple[SoftLabels, ...] = get_args(SoftLabels)

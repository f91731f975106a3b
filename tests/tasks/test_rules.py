import ast
from pathlib import Path

from brgcl.tasks import rules
from brgcl.tasks.rules import AUTO_CANDIDATES, CANDIDATES, CHOICES, FIXED_RULE, RULES


def test_names_of_rules_are_imported_without_anything_heavy():
    source = Path(rules.__file__).read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(source)))
    assert not any(isinstance(node, ast.Import) for node in nodes)
    assert {node.module for node in nodes if isinstance(node, ast.ImportFrom)} == {"typing"}


def test_every_rule_is_a_choice_a_candidate_or_the_probe():
    assert (*CHOICES, "bayes", "bayes-clusters", *CANDIDATES, "probe") == RULES
    assert set(AUTO_CANDIDATES) < set(RULES)
    assert CANDIDATES[0] == FIXED_RULE

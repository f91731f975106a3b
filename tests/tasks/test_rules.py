import subprocess
import sys
from pathlib import Path

import brgcl.tasks
from brgcl.tasks.rules import CANDIDATES, FIXED_RULE, RULES

IMPORT = """
import sys, types
for name in ("brgcl", "brgcl.tasks"):
    package = types.ModuleType(name)
    package.__path__ = [sys.argv[1] if name == "brgcl" else sys.argv[1] + "/tasks"]
    sys.modules[name] = package
import brgcl.tasks.rules
print(*(m for m in ("torch", "sklearn", "pandas", "numpy", "scipy") if m in sys.modules))
"""


def test_names_of_rules_are_imported_without_anything_heavy():
    folder = Path(brgcl.tasks.__file__).parents[1]
    found = subprocess.run(
        [sys.executable, "-c", IMPORT, folder], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == ""


def test_candidates_are_rules():
    assert set(CANDIDATES) < set(RULES)
    assert CANDIDATES[0] == FIXED_RULE

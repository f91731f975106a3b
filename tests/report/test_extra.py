import importlib

import pytest

from brgcl.errors import InputError
from brgcl.report.extra import check_report_extra, has_report_extra


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    assert not has_report_extra()
    with pytest.raises(InputError, match=r"reports need jinja2; pip install 'brgcl\[report\]'"):
        check_report_extra()

import pandas as pd
import pytest

from brgcl.errors import InputError
from brgcl.report.run import read_run


def test_a_run_without_a_title_is_called_by_its_folder(make_run):
    folder = make_run()
    (folder / "run.json").write_text("{}", encoding="utf-8")
    assert read_run(folder).title == "Run run"


def test_edges_to_rows_that_are_not_there_are_refused(make_run):
    folder = make_run()
    pd.DataFrame({"source": [0], "target": [60]}).to_parquet(folder / "edges.parquet")
    with pytest.raises(InputError, match=r"edges.parquet' names rows that nodes.parquet does not"):
        read_run(folder)


def test_nodes_without_ids_are_refused(make_run):
    folder = make_run()
    pd.DataFrame({"x": [0]}).to_parquet(folder / "nodes.parquet")
    with pytest.raises(InputError, match=r"nodes.parquet' has no column node_id"):
        read_run(folder)

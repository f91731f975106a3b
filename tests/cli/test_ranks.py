from dataclasses import dataclass
from pathlib import Path

import pytest

from brgcl.cli.options import EmbedOutput
from brgcl.cli.ranks import Together, check_ranks, describe_failure, without_ranks
from brgcl.cli.run_folder import TRAINING, claim_folder
from brgcl.errors import InputError
from brgcl.scale.train import Processes


@dataclass
class Failure:
    exitcode: int
    timestamp: int


def test_ranks_are_left_out_of_their_own_command_line():
    given = ["demo", "--ranks", "2", "--set", "epochs=2", "--out", "a", "--ranks=3"]
    assert without_ranks(given) == ["demo", "--set", "epochs=2", "--out", "a"]


@pytest.mark.parametrize(
    ("failures", "text"),
    [
        ({0: Failure(1, 5), 1: Failure(-9, 6)}, "rank 1 was ended by SIGKILL;"),
        ({0: Failure(1, 5), 1: Failure(1, 4)}, "rank 1 was ended with code 1;"),
        ({3: Failure(-250, 5)}, "rank 3 was ended by signal 250;"),
    ],
)
def test_the_rank_that_ended_first_is_named(failures, text):
    assert describe_failure(failures).startswith(text)


def test_only_brgcl_has_ranks_and_they_have_their_own_checkpoint():
    check_ranks("brgcl", None)
    with pytest.raises(InputError, match="gcn trains in one process; remove --ranks"):
        check_ranks("gcn", None)
    with pytest.raises(InputError, match="ranks keep their own checkpoint"):
        check_ranks("brgcl", Path("file"))


def test_a_stopped_run_of_ranks_may_be_finished_in_its_folder_and_no_other(tmp_path):
    together = Together(Processes(), tmp_path / "run" / TRAINING)
    output = EmbedOutput(out=tmp_path / "run")
    assert together.leads
    assert not together.output(output).overwrite
    (tmp_path / "run" / TRAINING).mkdir(parents=True)
    assert together.output(output).overwrite
    with claim_folder(tmp_path / "run", overwrite=False):
        pass
    (tmp_path / "run" / "report.html").write_text("mine")
    with (
        pytest.raises(InputError, match="was not written by brgcl"),
        claim_folder(tmp_path / "run", overwrite=True),
    ):
        pass

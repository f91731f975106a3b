"""The table and the sentences of `brgcl find-errors`."""

import io
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from brgcl.cli import find_errors_text
from brgcl.cli.find_errors_text import next_steps, print_suspects, sentences

REASON = "3 of 4 neighbours and all 5 nearest nodes are 'b', none is 'a'."
FOUND = {
    "num_labelled": 1000,
    "num_suspects": 50,
    "estimated_error_rate": 0.061,
    "error_interval": [0.05, 0.08],
    "fdr_estimated": 0.09,
    "classes": [{"given": "a", "suggested": "b", "count": 30}],
    "not_judged": ["rare", "rarer"],
}


def frame(*is_error):
    N = len(is_error)
    return pd.DataFrame(
        {
            "node": [f"n{i}" for i in range(N)],
            "given": "a",
            "suggested": "b",
            "score": [0.01 * (i + 1) for i in range(N)],
            "is_error": is_error,
            "evidence": REASON,
        }
    )


@pytest.fixture
def printed(monkeypatch):
    """Print suspects on a terminal of some width."""

    def call(suspects, top=20, width=80):
        file = io.StringIO()
        console = Console(file=file, width=width, markup=False, highlight=False, emoji=False)
        monkeypatch.setattr(find_errors_text, "stdout", lambda: console)
        print_suspects(suspects, top)
        return file.getvalue()

    return call


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_table_fits_the_terminal_and_loses_no_word(printed, width):
    suspects = frame(True, True)
    suspects["given"] = "Reinforcement Learning"
    suspects.loc[0, "node"] = "customer-with-a-very-long-name-000123"
    text = printed(suspects, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "customer-with-a-very-lon" in text
    assert "g-name-000123" in text
    assert all(word in text for word in ["Reinforcement", "Learning", "1.0", *REASON.split()])


def test_only_flagged_labels_are_shown_and_at_most_top(printed):
    suspects = frame(True, False, True, True)
    assert [f"n{i}" in printed(suspects) for i in range(4)] == [True, False, True, True]
    assert [f"n{i}" in printed(suspects, top=2) for i in range(4)] == [True, False, True, False]
    assert printed(suspects, top=0) == ""
    assert find_errors_text.print_suspects(suspects, 2) == 2


def test_without_suspects_those_that_come_closest_are_shown(printed):
    suspects = frame(*[False] * 9)
    suspects.loc[8, "score"] = float("nan")  # not judged
    text = printed(suspects)
    assert [f"n{i}" in text for i in range(9)] == [True] * 5 + [False] * 4
    none = {**FOUND, "num_suspects": 0, "classes": []}
    told = " ".join(sentences(none, num_printed=5))
    assert "No label is flagged as wrong; the labels above are the most suspicious." in told
    assert "No label is flagged as wrong." in sentences(none)  # nothing stands above
    assert "Confused" not in told


def test_sentences_say_what_was_found():
    told = " ".join(sentences(FOUND))
    assert "About 6.1 % of the 1,000 labels are wrong (95 % interval 5.0 to 8.0 %)." in told
    assert "50 of 1,000 labels are flagged as wrong; about 9.0 % of them are expected" in told
    assert "Most frequent confusions (given -> suggested): a -> b (30)." in told
    assert "Classes with too few labels to judge: rare, rarer." in told
    assert "made wrong" not in told


def test_one_suspect_is_told_in_the_singular(printed):
    told = " ".join(sentences({**FOUND, "num_suspects": 1}))
    assert "1 of 1,000 labels is flagged as wrong; the probability that it is right is 9" in told
    assert "The most suspicious of 2 labels" in printed(frame(True, False))


def test_sentences_of_a_detector_that_knows_less():
    told = sentences({**FOUND, "error_interval": None, "fdr_estimated": None, "not_judged": []})
    assert told[:2] == [
        "About 6.1 % of the 1,000 labels are wrong.",
        "50 of 1,000 labels are flagged as wrong.",
    ]


def test_scores_are_told_where_noise_was_injected():
    told = sentences({**FOUND, "noise_realised": 0.1, "auroc": 0.987, "f1": None})[-1]
    assert "10.0 % of the labels were made wrong. Scores: auroc 0.987" in told
    assert "f1 unknown" in told


def test_next_steps_name_the_folder_and_the_file():
    run, file = Path("run"), Path("c.csv")
    assert any("brgcl review run" in line for line in next_steps(run, None))
    assert any("brgcl review 'my run'" in line for line in next_steps(Path("my run"), None))
    assert any("--apply corrected.csv" in line for line in next_steps(run, None))
    assert not any("--apply" in line for line in next_steps(run, file))
    assert any("c.csv" in line for line in next_steps(None, file))
    assert any("--out RUN" in line for line in next_steps(None, None))

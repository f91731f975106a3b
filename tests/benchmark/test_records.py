import json
import multiprocessing

import pytest

from brgcl.benchmark.records import Reader, Record, append_record, claim, read_records
from brgcl.benchmark.run_spec import RunSpec
from brgcl.errors import InputError


def record(seed=0, accuracy=0.5, **fields):
    spec = RunSpec.of("demo", "gcn", seed, {})
    return Record(spec, {"accuracy": accuracy}, **fields)


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "new" / "records.jsonl"
    rows = [record(0, 0.5, rule="own", realised={"labels": 0.1}), record(1, 0.25)]
    for row in rows:
        append_record(path, row)
    assert list(read_records(path).values()) == rows


def test_no_file_is_no_record(tmp_path):
    assert read_records(tmp_path / "none.jsonl") == {}


def test_the_newest_record_counts(tmp_path):
    path = tmp_path / "records.jsonl"
    append_record(path, record(0, 0.1))
    append_record(path, record(0, 0.9))
    (newest,) = read_records(path).values()
    assert newest.metrics["accuracy"] == 0.9


@pytest.mark.parametrize("cut", [1, 10, 200])
def test_a_line_that_was_cut_off_is_dropped_and_the_next_one_is_whole(tmp_path, cut):
    path = tmp_path / "records.jsonl"
    append_record(path, record(0))
    append_record(path, record(1))
    path.write_bytes(path.read_bytes()[:-cut])
    assert len(read_records(path)) == 1
    append_record(path, record(2))
    assert {r.spec.seed for r in read_records(path).values()} == {0, 2}
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_a_line_that_is_no_record_is_named(tmp_path):
    path = tmp_path / "records.jsonl"
    append_record(path, record(0))
    with path.open("a") as file:
        file.write('{"key": "x"}\n')
    with pytest.raises(InputError, match=r"line 2 of .* is not a record"):
        read_records(path)


def test_a_record_of_other_defaults_does_not_count(tmp_path):
    path = tmp_path / "records.jsonl"
    append_record(path, record(0, config={"hidden": 16, "gone": 1}))
    append_record(path, record(1, config={"hidden": 17}))
    assert {r.spec.seed for r in read_records(path).values()} == {0}


@pytest.mark.parametrize(
    ("was", "now"),
    [('"method":"gcn"', '"method":"gone"'), ('"settings":{}', '"settings":{"gone":1}')],
)
def test_a_record_of_something_that_is_no_more_does_not_count(tmp_path, was, now):
    path = tmp_path / "records.jsonl"
    append_record(path, record(0))
    append_record(path, record(1))
    first, second = path.read_text().splitlines()
    assert was in second
    path.write_text(f"{first}\n{second.replace(was, now)}\n")
    assert {r.spec.seed for r in read_records(path).values()} == {0}


def test_a_reader_reads_what_was_added_and_notices_another_file(tmp_path):
    path = tmp_path / "records.jsonl"
    reader = Reader(path)
    assert reader.read() == {}
    append_record(path, record(0))
    append_record(path, record(1))
    assert len(reader.read()) == 2
    append_record(path, record(2))
    assert len(reader.read()) == 3
    path.unlink()
    assert reader.read() == {}
    append_record(path, record(7))
    assert [r.spec.seed for r in reader.read().values()] == [7]


def test_a_reader_notices_a_longer_file_in_place_of_the_one_it_knew(tmp_path):
    path, edited = tmp_path / "records.jsonl", tmp_path / "edited.jsonl"
    reader = Reader(path)
    append_record(path, record(0))
    assert len(reader.read()) == 1
    for seed in (7, 11, 1000):
        append_record(edited, record(seed))
    edited.replace(path)
    assert {r.spec.seed for r in reader.read().values()} == {7, 11, 1000}


def test_a_claim_is_had_once(tmp_path):
    path = tmp_path / "records.jsonl"
    with claim(path, "a") as first, claim(path, "b") as other:
        assert first
        assert other
        with claim(path, "a") as second:
            assert not second
    with claim(path, "a") as later:
        assert later


def write_many(path, first):
    for seed in range(first, first + 20):
        append_record(path, record(seed))


def test_processes_take_turns(tmp_path):
    path = tmp_path / "records.jsonl"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_many, args=(path, 100 * n)) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert len(read_records(path)) == 60

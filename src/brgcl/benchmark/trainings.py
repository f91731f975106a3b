"""Trainings for pictures: read from disk, or done now and kept."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil

from brgcl.benchmark.records import Record, ResultsFolder
from brgcl.benchmark.representations import representations_file
from brgcl.benchmark.run_spec import RunSpec
from brgcl.benchmark.runner import train
from brgcl.benchmark.schedule import Costs
from brgcl.contract import Fitted
from brgcl.machine import one_thread


def read_or_train(
    specs: Sequence[RunSpec],
    folder: ResultsFolder,
    records: Mapping[str, Record],
    say: Callable[[str], None] = lambda text: None,
) -> list[Fitted]:
    """Read the training of each run, of methods that read no labels; a missing one is done now.

    `records` tell how long that takes, and `say` is called with it.
    """
    costs = Costs(records.values())
    trained = []
    with one_thread():
        for number, spec in enumerate(specs, start=1):
            say(f"{number} of {len(specs)}: {spec}")
            if not representations_file(folder.cache, spec.training).is_file():
                seconds = costs.of([spec])
                about = "minutes" if seconds is None else f"about {ceil(seconds / 60)} min"
                say(f"  not trained yet: training now ({about}); kept in '{folder.cache}'")
            trained.append(train(spec, folder)[0])
    return trained

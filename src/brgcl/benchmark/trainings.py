"""Trainings for pictures: read from disk, or done now and kept."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil

from brgcl.benchmark.records import Record
from brgcl.benchmark.representations import Learned, cache_file
from brgcl.benchmark.run_spec import Experiment
from brgcl.benchmark.runner import Place, learn, library_versions, one_thread
from brgcl.benchmark.schedule import Costs


def read_or_train(
    runs: Sequence[Experiment],
    place: Place,
    records: Mapping[str, Record],
    say: Callable[[str], None] = lambda text: None,
) -> list[Learned]:
    """Read the training of each run; one that is not on disk is done now, and kept.

    Args:
        runs: Runs of methods that read no labels.
        place: Where trainings are kept.
        records: What was run, to tell how long a training takes.
        say: Called with what takes long.
    """
    costs = Costs(records.values())
    found = []
    with one_thread():
        for number, run in enumerate(runs, start=1):
            say(f"{number} of {len(runs)}: {run}")
            if not cache_file(place.cache, run.training, library_versions()).is_file():
                seconds = costs.of([run])
                about = "minutes" if seconds is None else f"about {ceil(seconds / 60)} min"
                say(f"  not trained yet: training now ({about}); kept in '{place.cache}'")
            found.append(learn(run.training, place)[0])
    return found

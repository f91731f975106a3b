"""The command `brgcl find-errors`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from brgcl.cli.console import print_json, print_line, print_sentence, say
from brgcl.cli.find_errors_text import SCORES, next_steps, print_suspects, sentences
from brgcl.cli.graph import opener
from brgcl.cli.grouped import grouped, option
from brgcl.cli.judge import judge
from brgcl.cli.labels_to_judge import (
    as_names,
    class_names,
    corrected_labels,
    draw_labels,
    rows_of,
    take_decisions,
)
from brgcl.cli.options import GraphOptions, NoiseOptions, OutputOptions, Seed, SettingOptions
from brgcl.cli.pipes import DASH, print_csv
from brgcl.cli.run_files import write_run
from brgcl.cli.run_folder import FILES, REVIEW, claim_file
from brgcl.detectors.names import DETECTORS
from brgcl.errors import InputError, check_name
from brgcl.evaluation.names import LABELLED
from brgcl.progress import progress_bar

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor
    from torch_geometric.data import Data

    from brgcl.contract import Fitted


MOST_DIAGNOSED = 50_000  # nodes; beyond, edges and attributes are left to brgcl diagnose


@dataclass(frozen=True)
class DetectorOptions(SettingOptions):
    """How to judge labels: a detector, and the settings of its method."""

    PANEL: ClassVar = "Detector"
    detector: str = option("brgcl", f"How to judge labels: {', '.join(DETECTORS)}.")
    fdr: float = option(0.1, "Share of right labels allowed among the flagged ones (brgcl).")

    def __post_init__(self) -> None:
        check_name("detector", self.detector, DETECTORS)
        if not 0 < self.fdr < 1:
            raise InputError(f"--fdr must be above 0 and below 1, got {self.fdr:g}")

    @property
    def method(self) -> str:  # type: ignore[override]
        """The method that the detector trains; empty if it trains none."""
        from brgcl.detectors.registry import find_detector

        return find_detector(self.detector).method

    def config(self, dataset: str | None) -> Any:
        """Put the settings of the method together."""
        from brgcl.detectors.registry import find_detector

        if self.method:
            return super().config(dataset)
        if (self.settings, self.file, self.encoder, self.preset) != (None, None, None, "default"):
            raise InputError(f"the detector {self.detector} trains nothing and has no settings")
        return find_detector(self.detector).config(dataset)


@dataclass(frozen=True)
class LabelOptions:
    """Which labels are judged."""

    PANEL: ClassVar = "Labels"
    labelled: str = option(
        "all", "Labels to judge: all, or train for those of a data set's training nodes."
    )
    reviewed: Path | None = option(
        None, "Run folder with a review; its decisions are taken as certain."
    )

    def __post_init__(self) -> None:
        check_name("value of --labelled", self.labelled, LABELLED)
        run = self.reviewed
        if run is not None and not (run / REVIEW).is_file():
            raise InputError(f"'{run}' has no review ({REVIEW}); brgcl review {run} starts one")


@dataclass(frozen=True)
class ErrorsOutput(OutputOptions):
    """Where suspects go."""

    top: int = option(20, "Number of rows of the printed table.", min=0)
    apply: Path | None = option(
        None, "CSV file to write corrected labels to; - = stdout. No input is changed."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.apply == DASH and (self.to_stdout or self.json_):
            raise InputError("--apply - must be alone on stdout; remove --json and --out -")

    def check_apply(self, graph: GraphOptions) -> None:
        """Check that the file of corrected labels takes no other file's place."""
        file = self.apply
        if file is None or file == DASH:
            return
        if file.suffix.lower() != ".csv":
            raise InputError(f"--apply writes CSV; give a name that ends in .csv, not '{file}'")
        graph.check_kept(file, "--apply")
        if (
            self.out is not None
            and file.name in FILES
            and file.parent.resolve() == self.out.resolve()
        ):
            raise InputError(f"'{file}' is a file of the run itself; give --apply another name")
        claim_file(file, overwrite=self.overwrite)


@grouped
def find_errors(
    graph: GraphOptions,
    labels: LabelOptions,
    detector: DetectorOptions,
    noise: NoiseOptions,
    output: ErrorsOutput,
    seed: Seed = 0,
) -> None:
    """Find labels that are probably wrong, with reasons and suggestions."""
    from brgcl.atomic_files import write_csv

    output.check_apply(graph)
    with output.claim(graph, reviewed=labels.reviewed) as folder:
        config = detector.config(graph.dataset)
        how = {"detector": detector.detector, "fdr": detector.fdr, "labelled": labels.labelled}
        data = opener(graph, folder, detector, noise, config, seed=seed, **how)(seed)
        noisy = draw_labels(data, labels.labelled, noise.noise(), seed)
        judged, certain = noisy.labels.train, None
        if labels.reviewed is not None:
            judged, certain = take_decisions(judged, data, labels.reviewed)
        fitted, suspects, findings = judge(
            noisy, judged, certain, detector.detector, config, detector.fdr, seed
        )
        found = {"dataset": data.name, "detector": detector.detector, **findings}
        if noise.label_noise is not None:
            scores = score_suspects(suspects, judged, certain, data)
            scores["noise_realised"] = noisy.label_noise
            found |= scores
            findings = {**findings, "noise": scores}
        if folder is not None:
            if data.num_nodes <= MOST_DIAGNOSED:
                findings = {**findings, "diagnosis": diagnose_rest(noisy.graph, fitted, seed)}
            has_truth = data.get("train_mask") is not None or noise.label_noise is not None
            nodes = node_table(data, judged, certain, fitted, has_truth=has_truth)
            title = f"Labels of {data.name}"
            metrics = {name: v for name, v in found.items() if not isinstance(v, list | dict)}
            write_run(
                folder, noisy.graph, fitted, metrics, nodes, title=title, seed=seed,
                suspects=suspects, findings=findings,
            )  # fmt: skip
    if output.apply is not None:
        names = as_names(noisy.labels.train, class_names(data, data.y))
        given = dict(zip(data.node_ids, names, strict=True))
        corrected = corrected_labels(suspects, given)
        if output.apply == DASH:
            print_csv(corrected)
        else:
            write_csv(output.apply, corrected)
    if output.to_stdout:
        print_csv(suspects)
    steps = next_steps(None if folder is None else folder.path, output.apply)
    if output.json_:
        flagged = suspects[suspects["is_error"]].to_json(orient="records")
        print_json({**found, "suspects": json.loads(flagged)})
    if output.json_ or output.to_stdout or output.apply == DASH:
        for line in steps if output.json_ else sentences(found):
            say(line)
        return
    printed = print_suspects(suspects, output.top)
    for sentence in sentences(found, printed):
        print_sentence(sentence)
    for line in steps:
        print_line(line)


def score_suspects(
    suspects: "pd.DataFrame", judged: "Tensor", certain: "Tensor | None", data: "Data"
) -> dict[str, float | None]:
    """Measure how well the labels that were made wrong are found.

    Labels decided on are left out. One that could not be judged counts as right, and so as missed
    if it is wrong. A score is None where no label is wrong or all are.
    """
    from brgcl.tasks.metrics import detection_scores

    rows = rows_of(suspects["node"], data)
    found = suspects.assign(wrong=(judged != data.y)[rows].numpy()).fillna({"score": 1.0})
    if certain is not None:
        found = found[~certain[rows].numpy()]
    scores = detection_scores(*(found[name].to_numpy() for name in ("score", "is_error", "wrong")))
    return {name: scores.get(name) for name in SCORES}


def diagnose_rest(graph: "Data", fitted: "Fitted | None", seed: int) -> dict[str, Any]:
    """Judge edges and attributes, too, for the report."""
    from brgcl.tasks.diagnose import diagnose

    with progress_bar("judging edges and attributes") as report:
        z = None if fitted is None else fitted.representations
        return diagnose(graph, z, seed=seed, report=report).to_dict()


def node_table(
    data: "Data",
    judged: "Tensor",
    certain: "Tensor | None",
    fitted: "Fitted | None",
    *,
    has_truth: bool,
) -> "pd.DataFrame":
    """One row per node: its labels, whether they were reviewed, and its cluster."""
    import pandas as pd

    names = class_names(data, data.y)
    columns: dict[str, Any] = {
        "node_id": list(data.node_ids),
        "label_given": as_names(judged, names),
    }
    if has_truth:
        columns["label_true"] = as_names(data.y, names)
    if certain is not None:
        columns["reviewed"] = certain.numpy()
    if fitted is not None and fitted.clustering is not None:
        columns["cluster"] = fitted.clustering.assignment.numpy()
    if fitted is not None and fitted.confidence is not None:
        columns["confidence"] = fitted.confidence.numpy()
    return pd.DataFrame(columns)

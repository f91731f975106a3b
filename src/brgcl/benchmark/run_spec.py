"""One run as a value: what is trained, on which draw of noise, and how it is scored."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, get_args

from brgcl.contract import Method
from brgcl.data import DATASETS
from brgcl.detectors.contract import Detector
from brgcl.detectors.registry import find_detector
from brgcl.errors import InputError, unknown_name
from brgcl.evaluation.names import LABELLED, PROTOCOLS, RIGHT, SCORED_ON
from brgcl.methods import find_method
from brgcl.noise import ATTRIBUTE_NOISE, LABEL_NOISE, NoiseSpec
from brgcl.noise.graph import Noise
from brgcl.tasks.rules import CHOICES, RULES

Task = Literal["classify", "cluster", "prototypes", "detect"]
Settings = tuple[tuple[str, Any], ...]  # names and values


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """One training and its score."""

    dataset: str
    method: str  # or a detector, where wrong labels are to be found
    seed: int  # of the draw, the split and the training
    task: Task = "classify"  # the test nodes; or "cluster" all nodes, count "prototypes", or
    # "detect" wrong labels
    protocol: str = "clean-val"
    noise: str = "none"  # with its scope where it has one (within@train); "none" at level 0,
    level: float = 0.0  # so that the clean runs of all tables are the same
    settings: Settings = ()  # those that differ from the defaults of Config, sorted by name
    rule: str = "best"  # the classifier on top of representations
    soft_labels: str = "normalize"  # targets of the perceptron among the classifiers
    scored_on: str = "test"  # or "validation" while something is being chosen
    labelled: str = "train"  # nodes with a label, or "all", or "right", which is an oracle
    method_version: int = 0  # 0 stands for the one that is installed

    def __post_init__(self) -> None:
        """Check the names; a noise of level 0 is no noise."""
        for what, name, known in (
            ("task", self.task, get_args(Task)),
            ("protocol", self.protocol, PROTOCOLS),
            ("data set", self.dataset, DATASETS),
            ("rule", self.rule, RULES),
            ("scored_on", self.scored_on, SCORED_ON),
            ("labelled", self.labelled, (*LABELLED, RIGHT)),
        ):
            if name not in known:
                raise unknown_name(what, name, known)
        installed = self.entry.version
        clean = self.level == 0 or self.noise == "none"
        object.__setattr__(self, "method_version", self.method_version or installed)
        object.__setattr__(self, "noise", "none" if clean else self.noise)
        object.__setattr__(self, "level", 0.0 if clean else float(self.level))
        self.noise_spec()

    @classmethod
    def of(
        cls, dataset: str, method: str, seed: int, changes: Mapping[str, Any], **fields: Any
    ) -> "RunSpec":
        """Make a run from the method's settings for the data set and changes to them."""
        task = fields.get("task", "classify")
        settings = _settings(task, dataset, method, tuple(changes.items()))
        return cls(dataset=dataset, method=method, seed=seed, settings=settings, **fields)

    @property
    def entry(self) -> Method | Detector:
        """The method, or the detector where wrong labels are to be found."""
        return find_entry(self.task, self.method)

    @property
    def is_oracle(self) -> bool:
        """Whether it is told which labels are right."""
        return self.labelled == RIGHT

    @property
    def config(self) -> Any:
        """The settings of the method."""
        return _config(self.task, self.method, self.settings)

    def noise_spec(self) -> Noise:
        """The noise as the three parts of a graph meet it."""
        if self.noise == "none":
            return Noise()
        kind, _, scope = self.noise.partition("@")
        spec = NoiseSpec(kind, self.level, scope or "all")
        if kind in LABEL_NOISE:
            return Noise(labels=spec)
        return Noise(attributes=spec) if kind in ATTRIBUTE_NOISE else Noise(edges=spec)

    @cached_property
    def key(self) -> str:
        """A short name that is the same for equal runs, today and later."""
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def training(self) -> "RunSpec":
        """The run that trains the same representation: what labels decide is left out.

        Only for methods that read no labels. Label noise, protocol and classifier do not reach
        their training, so all runs that share this value share one training.
        """
        entry, version = self.entry, self.method_version
        if entry.uses_labels:
            raise InputError(f"{self.method} learns from labels: its training is the run's own")
        # which nodes are labelled decides where noise on training nodes goes: the seed fixes both
        if isinstance(entry, Detector):
            entry = find_method(entry.method)
            version = entry.version
        return RunSpec(
            dataset=self.dataset,
            method=entry.name,
            seed=self.seed,
            noise="none" if self.noise_spec().labels else self.noise,
            level=self.level,
            settings=self.settings,
            method_version=version,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as a record holds them."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        values["split"] = values.pop("scored_on")
        values["rule"] = _written(self.rule, self.protocol)
        if self.method_version == 1:  # not in the keys of records from before there were versions
            del values["method_version"]
        if self.labelled == "train":  # nor in those from before all nodes could be labelled
            del values["labelled"]
        return values | {"settings": dict(self.settings)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "RunSpec":
        """Read what `to_dict` wrote."""
        fields = {**values, "settings": tuple(sorted(values["settings"].items()))}
        fields["scored_on"] = fields.pop("split")
        for rule in CHOICES:
            if fields["rule"] == _written(rule, fields["protocol"]):
                fields["rule"] = rule
                break
        return cls(**{"method_version": 1, **fields})

    def __str__(self) -> str:
        noise = "" if self.noise == "none" else f", {self.noise} {self.level:g}"
        return f"{self.task} {self.dataset}, {self.method}{noise}, seed {self.seed}"


def _written(rule: str, protocol: str) -> str:
    """Name of a rule on disk, which changes when the rule does, so that old records do not count.

    "best" is written as "auto": records were made when there was no other choice. "auto-2" saw
    representations alone. "auto-3" let validation labels choose neither "bayes-clusters" nor, where
    edges help, attributes alone; without validation labels nothing has changed since.
    """
    if rule == "auto":
        return "auto-3" if protocol == "no-val" else "auto-4"
    return "auto" if rule == "best" else rule


def changed_settings(config: Any) -> Settings:
    """Settings that differ from the defaults of their class, sorted; the seed is none of them.

    Example:
        >>> from brgcl.config import BRGCLConfig
        >>> changed_settings(BRGCLConfig(xi=0.3, seed=7))
        (('xi', 0.3),)
    """
    values = ((field, getattr(config, field.name)) for field in dataclasses.fields(config))
    return tuple(sorted((f.name, v) for f, v in values if f.name != "seed" and v != f.default))


def find_entry(task: str, name: str) -> Method | Detector:
    """Return what a run is of: a detector where wrong labels are to be found, else a method."""
    return find_detector(name) if task == "detect" else find_method(name)


@cache
def _settings(task: str, dataset: str, method: str, changes: Settings) -> Settings:
    return changed_settings(find_entry(task, method).config(dataset, **dict(changes)))


@cache
def _config(task: str, method: str, settings: Settings) -> Any:
    return find_entry(task, method).Config(**dict(settings))

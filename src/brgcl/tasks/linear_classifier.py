"""A fitted classifier as a file, so that it predicts the classes of other nodes later."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from brgcl.atomic_files import read_tensors, refusing_damage, write_tensors
from brgcl.errors import InputError
from brgcl.method.attributes import Preparation
from brgcl.tasks.attribute_rows import AttributeProjection
from brgcl.tasks.bayes_rule import BayesFit, linear_probabilities, mean_field
from brgcl.tasks.checks import check_representations, transition_of
from brgcl.tasks.classifiers import (
    CENTROID_TEMPERATURE,
    centroid_probabilities,
    logistic_probabilities,
)
from brgcl.tasks.classify import NodeClassifier
from brgcl.tasks.label_noise import log, without_loops
from brgcl.tasks.own_attributes import ByAttributes, JoinedFit, join_rows, of_graph
from brgcl.tasks.rules import ATTRIBUTE_RULES

FORMAT = "brgcl-classifier-2"  # 1 had no attributes


@dataclass(frozen=True)
class LinearClassifier:
    """Class probabilities softmax(z W + b), smoothed over the graph of the nodes.

    Where it was fitted to attributes too, [z, a / 2] at unit length takes the place of z, a being
    the attributes around a node (`own_attributes.py`); where to attributes alone, rows of these do.

    Attributes:
        weight: W, `(D, C)`.
        bias: b, `(C,)`; minus infinity for a class that had no label.
        class_names: Names of the classes.
        coupling: How far neighbours count; 0 = not at all (see `bayes_rule`).
        rule: Name of the classifier in `NodeClassifier`.
        scaling: How attributes are scaled; None where it does not see any.
        projection: What takes scaled attributes to rows of few columns; None likewise.
    """

    weight: Tensor
    bias: Tensor
    class_names: tuple[str, ...]
    coupling: float
    rule: str
    scaling: Preparation | None = None
    projection: AttributeProjection | None = None

    @classmethod
    def of(
        cls, classifier: NodeClassifier, class_names: Sequence[str]
    ) -> "LinearClassifier | None":
        """Take what a fitted classifier has learned; None for the perceptron, which is not linear.

        Args:
            classifier: A fitted classifier whose labels were numbers of classes.
            class_names: Names of all classes.
        """
        predictor, coupling = classifier._predictor, 0.0
        scaling = projection = None
        if isinstance(predictor, JoinedFit | ByAttributes):
            scaling, projection = classifier._scaling, predictor.projection
            predictor = predictor.joined if isinstance(predictor, JoinedFit) else predictor.fit
        if isinstance(predictor, BayesFit):
            coupling, predictor = predictor.coupling, predictor.predictor
        parts = _linear_parts(predictor) if isinstance(predictor, partial) else None
        if parts is None:
            return None
        weight, bias = parts
        places = torch.as_tensor(classifier.classes_).long()
        every = weight.new_zeros(len(weight), len(class_names)).index_copy(1, places, weight)
        absent = bias.new_full((len(class_names),), -torch.inf).index_copy(0, places, bias)
        names, rule = tuple(class_names), classifier.rule_
        return cls(every, absent, names, coupling, rule, scaling, projection)

    def predict_proba(self, z: Tensor, graph: Data | None = None) -> Tensor:
        """Class probabilities, `(N, C)`.

        Args:
            z: Representations, `(N, D)`.
            graph: The graph of these nodes, over which probabilities are smoothed; needed if the
                classifier was fitted to attributes.
        """
        rows = self._seen(check_representations(z), graph)
        present = self.bias.isfinite().nonzero().squeeze(1)
        p = (rows @ self.weight[:, present] + self.bias[present]).softmax(1)
        if graph is not None and self.coupling > 0:
            neighbours = without_loops(transition_of(graph, len(rows)))
            p = mean_field(log(p), neighbours, self.coupling).exp()
        return p.new_zeros(len(rows), len(self.bias)).index_copy(1, present, p)

    def _seen(self, z: Tensor, graph: Data | None) -> Tensor:
        """What the classifier sees of the nodes, `(N, D)`."""
        by_attributes = self.rule in ATTRIBUTE_RULES
        expected = len(self.weight)
        if self.projection is not None:
            expected -= len(self.projection.offset)
        if not by_attributes and z.shape[1] != expected:
            raise InputError(
                f"z has {z.shape[1]} columns but the classifier was fitted with {expected}"
            )
        if self.projection is None:
            return z
        rows = self._of_attributes(self.projection, graph, len(z))
        return rows if by_attributes else join_rows(z, rows)

    def _of_attributes(
        self, projection: AttributeProjection, graph: Data | None, num_nodes: int
    ) -> Tensor:
        x = None if graph is None else of_graph(graph, self.scaling)
        if graph is None or x is None or x.shape[1] != len(projection.matrix):
            raise InputError(
                "the classifier was fitted to attributes: give the graph of the nodes, with the "
                f"same {len(projection.matrix)} attributes"
            )
        return projection.apply(x, transition_of(graph, num_nodes))

    def save(self, path: Path) -> None:
        """Write the classifier into a safetensors file."""
        about = {
            "format": FORMAT, "class_names": self.class_names, "coupling": self.coupling,
            "rule": self.rule,
        }  # fmt: skip
        tensors = {"weight": self.weight, "bias": self.bias}
        if self.projection is not None and self.scaling is not None:
            about["scaling"] = self.scaling.kind
            tensors |= {"matrix": self.projection.matrix, "offset": self.projection.offset}
            columns = {"mean": self.scaling.mean, "scale": self.scaling.scale}
            tensors |= {name: column for name, column in columns.items() if column is not None}
        write_tensors(path, tensors, about)

    @classmethod
    def load(cls, path: Path) -> "LinearClassifier":
        """Read a classifier that `save` wrote; nothing in it is executed."""
        with refusing_damage(path, "classify again"):
            tensors, about = read_tensors(path)
            if about.get("format") != FORMAT:
                raise InputError(f"'{path}' is not a classifier of this version ({FORMAT})")
            scaling = projection = None
            if "scaling" in about:
                scaling = Preparation(about["scaling"], tensors.get("mean"), tensors.get("scale"))
                around = about["rule"] != ATTRIBUTE_RULES[0]
                projection = AttributeProjection(tensors["matrix"], tensors["offset"], around)
            return cls(
                tensors["weight"], tensors["bias"], tuple(about["class_names"]),
                float(about["coupling"]), str(about["rule"]), scaling, projection,
            )  # fmt: skip


def _linear_parts(predictor: "partial[Any]") -> tuple[Tensor, Tensor] | None:
    """Weight `(D, C)` and bias `(C,)` of a predictor; None if it is not linear."""
    if predictor.func is linear_probabilities:
        weight, present, num_classes = predictor.args
        bias = weight.new_full((num_classes,), -torch.inf).index_copy(0, present, weight[-1])
        every = weight.new_zeros(len(weight) - 1, num_classes)
        return every.index_copy(1, present, weight[:-1]), bias
    if predictor.func is centroid_probabilities:
        means, absent = predictor.args
        return means.T / CENTROID_TEMPERATURE, torch.where(absent, -torch.inf, 0.0)
    if predictor.func is logistic_probabilities:
        model, num_classes = predictor.args
        coef, intercept = (torch.as_tensor(a).float() for a in (model.coef_, model.intercept_))
        if len(coef) == 1:  # of two classes, the second one against the first
            coef, intercept = (torch.cat([torch.zeros_like(a), a]) for a in (coef, intercept))
        places = torch.as_tensor(model.classes_).long()
        bias = intercept.new_full((num_classes,), -torch.inf).index_copy(0, places, intercept)
        return coef.new_zeros(coef.shape[1], num_classes).index_copy(1, places, coef.T), bias
    return None

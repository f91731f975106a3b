"""brgcl: learning on graphs whose labels, attributes and edges are noisy.

    >>> import brgcl
    >>> data = brgcl.make_graph(num_nodes=200, num_classes=3, labels_per_class=5)
    >>> z = brgcl.BRGCL(epochs=2, hidden=16, dim=8).fit(data).transform(data)

See the README for a tour, `docs/` for the method, `brgcl --help` for the command line.
"""

from typing import TYPE_CHECKING

from brgcl import machine as machine  # first: it sets variables before torch is loaded
from brgcl.errors import BrgclError as BrgclError
from brgcl.errors import DataNotFound as DataNotFound
from brgcl.errors import InputError as InputError
from brgcl.errors import NotFitted as NotFitted
from brgcl.lazy import lazy_names

__version__ = "0.1.0"

if TYPE_CHECKING:
    from brgcl.config import BRGCLConfig as BRGCLConfig
    from brgcl.data.datasets import load_dataset as load_dataset
    from brgcl.data.files import read_graph as read_graph
    from brgcl.data.frames import from_pandas as from_pandas
    from brgcl.data.frames import to_pandas as to_pandas
    from brgcl.data.graph_folder import open_graph as open_graph
    from brgcl.data.graph_folder import save_graph as save_graph
    from brgcl.data.graphs import check_graph as check_graph
    from brgcl.data.graphs import from_scipy as from_scipy
    from brgcl.data.knn import knn_graph as knn_graph
    from brgcl.data.libraries import from_igraph as from_igraph
    from brgcl.data.libraries import from_networkx as from_networkx
    from brgcl.data.synthetic import make_graph as make_graph
    from brgcl.evaluation.evaluate import Evaluation as Evaluation
    from brgcl.evaluation.evaluate import evaluate as evaluate
    from brgcl.model import BRGCL as BRGCL
    from brgcl.tasks.attribute_errors import find_attribute_errors as find_attribute_errors
    from brgcl.tasks.classify import NodeClassifier as NodeClassifier
    from brgcl.tasks.cluster import cluster as cluster
    from brgcl.tasks.diagnose import Diagnosis as Diagnosis
    from brgcl.tasks.diagnose import diagnose as diagnose
    from brgcl.tasks.edge_errors import find_edge_errors as find_edge_errors
    from brgcl.tasks.label_errors import LabelErrors as LabelErrors
    from brgcl.tasks.label_errors import find_label_errors as find_label_errors
    from brgcl.tasks.label_errors import judge_labels as judge_labels
    from brgcl.tasks.label_noise import LabelNoiseModel as LabelNoiseModel
    from brgcl.track import mlflow_callback as mlflow_callback
    from brgcl.track import tensorboard_callback as tensorboard_callback
else:  # importing brgcl loads none of torch, scikit-learn and pandas
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "config": ["BRGCLConfig"],
            "data.datasets": ["load_dataset"],
            "data.files": ["read_graph"],
            "data.frames": ["from_pandas", "to_pandas"],
            "data.graph_folder": ["open_graph", "save_graph"],
            "data.graphs": ["check_graph", "from_scipy"],
            "data.knn": ["knn_graph"],
            "data.libraries": ["from_igraph", "from_networkx"],
            "data.synthetic": ["make_graph"],
            "evaluation.evaluate": ["Evaluation", "evaluate"],
            "model": ["BRGCL"],
            "tasks.attribute_errors": ["find_attribute_errors"],
            "tasks.classify": ["NodeClassifier"],
            "tasks.cluster": ["cluster"],
            "tasks.diagnose": ["Diagnosis", "diagnose"],
            "tasks.edge_errors": ["find_edge_errors"],
            "tasks.label_errors": ["LabelErrors", "find_label_errors", "judge_labels"],
            "tasks.label_noise": ["LabelNoiseModel"],
            "track": ["mlflow_callback", "tensorboard_callback"],
        },
    )

"""brgcl: learning on graphs whose labels, attributes and edges are noisy.

    >>> import brgcl
    >>> data = brgcl.make_graph(num_nodes=200, num_classes=3, labels_per_class=5)
    >>> z = brgcl.BRGCL(epochs=2, hidden=16, dim=8).fit(data).transform(data)

See the README for a tour, `docs/` for the method, `brgcl --help` for the command line.
"""

from brgcl import machine as machine  # isort: skip  (first: it speaks before torch is loaded)
from brgcl.config import BRGCLConfig as BRGCLConfig
from brgcl.data import check_graph as check_graph
from brgcl.data import from_networkx as from_networkx
from brgcl.data import from_scipy as from_scipy
from brgcl.data import load_dataset as load_dataset
from brgcl.data import make_graph as make_graph
from brgcl.data import read_graph as read_graph
from brgcl.errors import BrgclError as BrgclError
from brgcl.errors import DataNotFound as DataNotFound
from brgcl.errors import InputError as InputError
from brgcl.errors import NotFitted as NotFitted
from brgcl.model import BRGCL as BRGCL
from brgcl.tasks.classify import NodeClassifier as NodeClassifier
from brgcl.tasks.cluster import cluster as cluster
from brgcl.tasks.label_errors import find_label_errors as find_label_errors

__version__ = "0.1.0"

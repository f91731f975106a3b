"""Graphs: named public ones, a user's own, and generated ones, all as a checked `Data`."""

from brgcl.data.catalogue import DATASETS as DATASETS
from brgcl.data.datasets import available as available
from brgcl.data.datasets import dataset_status as dataset_status
from brgcl.data.datasets import load_dataset as load_dataset
from brgcl.data.files import read_graph as read_graph
from brgcl.data.graphs import check_graph as check_graph
from brgcl.data.graphs import from_networkx as from_networkx
from brgcl.data.graphs import from_scipy as from_scipy
from brgcl.data.splits import random_split as random_split
from brgcl.data.synthetic import make_graph as make_graph

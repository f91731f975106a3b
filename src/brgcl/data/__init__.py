"""Graphs: named public ones, a user's own, and generated ones, all as a checked `Data`.

Names are imported when they are asked for, so that the list of data sets costs no torch.
"""

from typing import TYPE_CHECKING

from brgcl.lazy import lazy_names

if TYPE_CHECKING:
    from brgcl.data.catalogue import DATASETS as DATASETS
    from brgcl.data.datasets import available as available
    from brgcl.data.datasets import dataset_status as dataset_status
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
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "catalogue": ("DATASETS",),
            "datasets": ("available", "dataset_status", "load_dataset"),
            "files": ("read_graph",),
            "frames": ("from_pandas", "to_pandas"),
            "graph_folder": ("open_graph", "save_graph"),
            "graphs": ("check_graph", "from_scipy"),
            "knn": ("knn_graph",),
            "libraries": ("from_igraph", "from_networkx"),
            "synthetic": ("make_graph",),
        },
    )

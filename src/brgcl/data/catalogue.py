"""The public graphs: files, checksums, addresses, sizes, citations."""

from dataclasses import dataclass
from typing import Literal

PLANETOID_PARTS = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")
_PLANETOID_URL = (
    "https://raw.githubusercontent.com/kimiyoung/planetoid/"
    "af6abf468a772cc055bec88c52e4d6f51b7c37e3/data/"
)
_COAUTHOR_URL = "https://raw.githubusercontent.com/shchur/gnn-benchmark/master/data/npz/"
GRAPH_FILE = "graph.json"  # by which a graph folder is known
_ARXIV_ZIP = "https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"


@dataclass(frozen=True)
class File:
    """One raw file of a data set.

    Attributes:
        name: Path below the folder of the data set.
        url: Where it is downloaded from.
        sha256: Checksum; None where the public file's is not known to us.
    """

    name: str
    url: str
    sha256: str | None


@dataclass(frozen=True)
class Dataset:
    """What is known of a data set before it is read.

    Attributes:
        folder: Name of its folder below a data folder.
        files: Raw files; none for a generated graph.
        format: The reader in `formats.READERS`.
        num_edges: Undirected edges without self-loops; None if it depends on the seed.
        class_names: Names of the classes where the files have none.
        archive: Address of a zip file that holds the files, if they are published as one.
        directed: Whether `num_edges` counts directed edges.
        num_nonzeros: Stored attributes, for a data set whose checksums are not all known: a file
            with another checksum is then accepted if all sizes are right.
    """

    folder: str
    files: tuple[File, ...]
    format: Literal["planetoid", "coauthor", "ogb-arxiv", "generated"]
    citation: str
    num_nodes: int
    num_edges: int | None
    num_features: int
    num_classes: int
    class_names: tuple[str, ...] = ()
    archive: str | None = None
    directed: bool = False
    num_nonzeros: int | None = None


def _planetoid(
    name: str,
    citation: str,
    sizes: tuple[int, int, int, int],
    class_names: tuple[str, ...],
    *checksums: str,
) -> Dataset:
    """A citation graph; `sizes` are its nodes, edges, attributes and classes."""
    names = [f"ind.{name}.{part}" for part in PLANETOID_PARTS]
    files = tuple(
        File(file, _PLANETOID_URL + file, checksum)
        for file, checksum in zip(names, checksums, strict=True)
    )
    return Dataset(name, files, "planetoid", citation, *sizes, class_names=class_names)


DATASETS: dict[str, Dataset] = {
    "cora": _planetoid(
        "cora",
        "Sen et al. 2008; split of Yang et al. 2016",
        (2708, 5278, 1433, 7),
        (
            *("Theory", "Reinforcement Learning", "Genetic Algorithms", "Neural Networks"),
            *("Probabilistic Methods", "Case Based", "Rule Learning"),
        ),
        "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
        "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
        "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
        "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
        "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
        "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
        "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
        "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    ),
    "citeseer": _planetoid(
        "citeseer",
        "Sen et al. 2008; split of Yang et al. 2016",
        (3327, 4552, 3703, 6),
        ("AI", "ML", "IR", "DB", "Agents", "HCI"),
        "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
        "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
        "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
        "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
        "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
        "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
        "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
        "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    ),
    "pubmed": _planetoid(
        "pubmed",
        "Namata et al. 2012; split of Yang et al. 2016",
        (19717, 44324, 500, 3),
        ("Diabetes Experimental", "Diabetes Type 1", "Diabetes Type 2"),
        "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
        "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
        "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
        "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
        "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
        "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
        "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
        "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    ),
    "coauthor-cs": Dataset(
        folder="coauthor_cs",
        files=(
            File(
                "ms_academic_cs.npz",
                _COAUTHOR_URL + "ms_academic_cs.npz",
                # of a repacked file with plain arrays; the published one is judged by its sizes
                "4d6de01f8af1e53205ab561b6d979fcf34cf8713785f0ceb8170294f84d016b5",
            ),
        ),
        format="coauthor",
        citation="Shchur et al. 2018",
        num_nodes=18333,
        num_edges=81894,
        num_features=6805,
        num_classes=15,
        num_nonzeros=1_092_079,
    ),
    "ogbn-arxiv": Dataset(
        folder="arxiv",
        files=tuple(
            File(f"{name}.csv.gz", _ARXIV_ZIP, None)
            for name in (
                *("raw/edge", "raw/node-feat", "raw/node-label", "raw/num-node-list"),
                *("split/time/train", "split/time/valid", "split/time/test"),
            )
        ),
        format="ogb-arxiv",
        citation="Hu et al. 2020",
        num_nodes=169343,
        num_edges=1166243,
        num_features=128,
        num_classes=40,
        archive=_ARXIV_ZIP,
        directed=True,  # some citations go both ways
    ),
    "demo": Dataset(
        folder="demo",
        files=(),
        format="generated",
        citation="generated by brgcl.make_graph",
        num_nodes=2000,
        num_edges=None,
        num_features=1000,
        num_classes=7,
    ),
}
"""The public graphs by name; `demo` is generated."""

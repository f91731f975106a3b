"""Every method, ours among them, behind one dict."""

from brgcl.baselines import brgcl, cca_ssg, dgi, gcn, grace, mvgrl, s2gc
from brgcl.baselines.contract import Fitted as Fitted
from brgcl.baselines.contract import Method as Method
from brgcl.baselines.contract import ObservedLabels as ObservedLabels
from brgcl.config import PAPER_TABLE, BRGCLConfig

METHODS: dict[str, Method] = {
    "brgcl": Method(
        fit=brgcl.fit,
        Config=BRGCLConfig,
        kind="representation",
        citation="Wang & Yang, Bayesian Robust Graph Contrastive Learning, 2022",
        uses_labels=False,
        oracle="",
        cost="time O(N² D) exact or O(N m D) with m sampled negatives; memory O(E + N D)",
    ),
    "brgcl-paper": Method(
        fit=brgcl.fit,
        Config=BRGCLConfig,
        kind="representation",
        citation="Wang & Yang, Bayesian Robust Graph Contrastive Learning, 2022, as printed",
        uses_labels=False,
        oracle="",
        cost="time O(N² D); memory O(E + N D)",
        presets={
            name or "default": BRGCLConfig.preset("paper-literal", dataset=name).to_dict()
            for name in (None, *PAPER_TABLE)
        },
    ),
    "gcn": Method(
        fit=gcn.fit,
        Config=gcn.GCNConfig,
        kind="classifier",
        citation="Kipf & Welling, Semi-Supervised Classification with GCNs, ICLR 2017",
        uses_labels=True,
        oracle="",
        cost="time and memory O(E h + N F h)",
    ),
    "s2gc": Method(
        fit=s2gc.fit,
        Config=s2gc.S2GCConfig,
        kind="classifier",
        citation="Zhu & Koniusz, Simple Spectral Graph Convolution, ICLR 2021",
        uses_labels=True,
        oracle="",
        cost="time O(K E min(n, F)) once, then O(n F C) per epoch; memory O(E + n F), n labels",
        presets={
            "citeseer": {"weight_decay": 1e-4, "epochs": 150},
            "pubmed": {"weight_decay": 2e-5},
        },
    ),
    "cca-ssg": Method(
        fit=cca_ssg.fit,
        Config=cca_ssg.CCASSGConfig,
        kind="representation",
        citation="Zhang et al., From Canonical Correlation Analysis to Self-supervised GNNs, 2021",
        uses_labels=False,
        oracle="",
        cost="time O(E D + N D²); memory O(E + N D)",
        presets={
            "citeseer": {
                "num_layers": 1,
                "mask": 0.0,
                "decorrelation_weight": 5e-4,
                "epochs": 20,
            },
            "pubmed": {"drop": 0.5, "mask": 0.3, "epochs": 100},
            "coauthor-cs": {"encoder": "mlp", "mask": 0.2},
        },
    ),
    "grace": Method(
        fit=grace.fit,
        Config=grace.GRACEConfig,
        kind="representation",
        citation="Zhu et al., Deep Graph Contrastive Representation Learning, 2020",
        uses_labels=False,
        oracle="",
        cost="time O(N² D) exact or O(N m D) with m sampled negatives; memory O(E + N D)",
        presets={
            "citeseer": {
                "dim": 256,
                "projection_dim": 256,
                "activation": "prelu",
                "drop2": 0.0,
                "mask2": 0.2,
                "tau": 0.9,
                "lr": 1e-3,
            },
            "pubmed": {
                "dim": 256,
                "projection_dim": 256,
                "drop1": 0.4,
                "drop2": 0.1,
                "mask1": 0.0,
                "mask2": 0.2,
                "tau": 0.7,
                "lr": 1e-3,
                "epochs": 1500,
            },
            "coauthor-cs": {
                "dim": 256,
                "projection_dim": 256,
                "activation": "prelu",
                "drop1": 0.3,
                "drop2": 0.2,
                "epochs": 1000,
            },
        },
    ),
    "dgi": Method(
        fit=dgi.fit,
        Config=dgi.DGIConfig,
        kind="representation",
        citation="Velickovic et al., Deep Graph Infomax, ICLR 2019",
        uses_labels=False,
        oracle="",
        cost="time and memory O(E D + N D)",
        presets={"pubmed": {"dim": 256}},
    ),
    "mvgrl": Method(
        fit=mvgrl.fit,
        Config=mvgrl.MVGRLConfig,
        kind="representation",
        citation="Hassani & Khasahmadi, Contrastive Multi-View Learning on Graphs, ICML 2020",
        uses_labels=False,
        oracle="",
        cost="time O(K E D) with K rounds of diffusion; memory O(E + N D)",
    ),
}

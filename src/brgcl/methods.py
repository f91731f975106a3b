"""Every method, ours among them, behind one dict."""

from brgcl.baselines import (
    arga,
    bgrl,
    brgcl,
    brgcl_joint,
    cca_ssg,
    clnode,
    co_teaching,
    dgi,
    erase,
    forward,
    gae,
    gala,
    gce,
    gcn,
    grace,
    graphmae,
    jocor,
    kmeans,
    mlp,
    mvgrl,
    nrgnn,
    random_gcn,
    s2gc,
    s2gc_features,
    sce,
    self_training,
    smooth,
    unionnet,
)
from brgcl.contract import Fitted as Fitted
from brgcl.contract import Method as Method
from brgcl.contract import ObservedLabels as ObservedLabels
from brgcl.errors import check_name

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        brgcl.METHOD, brgcl.PAPER, gcn.METHOD, gcn.WIDE, mlp.METHOD, s2gc.METHOD,
        gce.METHOD, nrgnn.METHOD,
        co_teaching.METHOD, self_training.METHOD, brgcl_joint.METHOD, sce.METHOD, forward.METHOD,
        jocor.METHOD, clnode.METHOD, unionnet.METHOD, erase.METHOD, kmeans.METHOD, smooth.METHOD,
        random_gcn.METHOD, s2gc_features.METHOD, gae.METHOD, arga.METHOD, arga.ARVGA, gala.METHOD,
        cca_ssg.METHOD, grace.METHOD, dgi.METHOD, mvgrl.METHOD, bgrl.METHOD, graphmae.METHOD,
    )
}  # fmt: skip


def find_method(name: str) -> Method:
    """Return the method of this name.

    Raises:
        InputError: There is no such method; the message names the nearest one.
    """
    check_name("method", name, METHODS, hint="brgcl methods lists all")
    return METHODS[name]

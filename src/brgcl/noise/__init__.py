"""Noise on labels, attributes and edges: drawn from a generator, never changing its input.

Names are imported when they are asked for, so that the names of the noises cost no torch.
"""

from typing import TYPE_CHECKING

from brgcl.lazy import lazy_names

if TYPE_CHECKING:
    from brgcl.noise.attributes import corrupt_attributes as corrupt_attributes
    from brgcl.noise.edges import corrupt_edges as corrupt_edges
    from brgcl.noise.labels import flip_labels as flip_labels
    from brgcl.noise.labels import link_density as link_density
    from brgcl.noise.labels import similar_partners as similar_partners
    from brgcl.noise.labels import transition_matrix as transition_matrix
    from brgcl.noise.spec import ATTRIBUTE_NOISE as ATTRIBUTE_NOISE
    from brgcl.noise.spec import EDGE_NOISE as EDGE_NOISE
    from brgcl.noise.spec import LABEL_NOISE as LABEL_NOISE
    from brgcl.noise.spec import NoiseSpec as NoiseSpec
    from brgcl.noise.spec import parse_noise as parse_noise
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "attributes": ("corrupt_attributes",),
            "edges": ("corrupt_edges",),
            "labels": ("flip_labels", "link_density", "similar_partners", "transition_matrix"),
            "spec": ("ATTRIBUTE_NOISE", "EDGE_NOISE", "LABEL_NOISE", "NoiseSpec", "parse_noise"),
        },
    )

"""What people want representations for: classes, clusters, wrong labels."""

from brgcl.tasks.classify import NodeClassifier as NodeClassifier
from brgcl.tasks.cluster import cluster as cluster
from brgcl.tasks.label_errors import find_label_errors as find_label_errors

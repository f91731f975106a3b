"""What people want representations for: classes, clusters, wrong labels.

The public names are `brgcl.NodeClassifier`, `brgcl.cluster` and `brgcl.find_label_errors`.
"""

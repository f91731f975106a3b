"""The paper, one file per idea: pure tensors, no input or output, no printing."""

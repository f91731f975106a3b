"""From which density on are dense attributes faster? X W and X'G, stored as CSR and as dense.

python benchmarks/density.py
"""

import torch

from brgcl.machine import keep_freed_memory
from brgcl.method.attributes import SPARSE_BELOW
from brgcl.method.sparse import Matrix
from kernels import median_seconds

N, F, HIDDEN = 5000, 1000, 512

if __name__ == "__main__":
    keep_freed_memory()
    generator = torch.Generator().manual_seed(0)
    W, G = (torch.randn(rows, HIDDEN, generator=generator) for rows in (F, N))
    print(f"X ({N} x {F}) times ({F} x {HIDDEN}) and back, dense time over sparse time:")
    for density in (0.01, 0.03, 0.06, 0.1, 0.12, 0.15, 0.2, 0.3):
        x = torch.rand(N, F, generator=generator)
        x *= torch.rand(N, F, generator=generator) < density
        sparse, dense = Matrix(x.to_sparse_csr()), Matrix(x)
        taken = [
            median_seconds(lambda x=x: (x @ W, x.transposed_product(G)), 7) for x in (dense, sparse)
        ]
        print(f"  density {density:4.2f}: {taken[0] / taken[1]:5.2f}")
    print(f"attributes are stored as CSR below a density of {SPARSE_BELOW}")

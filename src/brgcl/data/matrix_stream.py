"""Attributes on their way into a graph folder: block by block, dense or, if mostly 0, sparse."""

from pathlib import Path
from types import TracebackType
from typing import Any, Literal
from zipfile import BadZipFile, ZipFile

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from brgcl.data.attributes import attribute_tensor, checked_attributes
from brgcl.data.files import read_matrix
from brgcl.data.graph_writer import GraphWriter
from brgcl.errors import InputError
from brgcl.method.attributes import SPARSE_BELOW
from brgcl.method.sparse import is_sparse

BLOCK = 1 << 22  # values that are moved at once


class AttributeWriter:
    """Writes blocks of rows; what is mostly 0 is rewritten as CSR at the end, as `read_graph` does.

    Attributes:
        width: F.
    """

    def __init__(self, writer: GraphWriter, name: str, *, choose: bool = True) -> None:
        """Begin with no rows.

        Args:
            writer: Where to.
            name: What messages call the attributes.
            choose: Whether to store them as CSR if that is smaller; else they stay dense.
        """
        self.width, self._writer, self._name, self._choose = 0, writer, name, choose
        self._nonzero = self._length = 0
        self._stack: Any = None

    def __enter__(self) -> "AttributeWriter":
        return self

    def append(self, block: NDArray[np.float32]) -> None:
        """Add rows, `(n, F)`."""
        if self._stack is None:
            self.width = block.shape[1]
            self._stack = self._writer.growing("x", np.float32, self.width)
            self._array = self._stack.__enter__()
        if block.shape[1] != self.width:
            raise InputError(
                f"{self._name}: a column holds vectors of different lengths; "
                "give every node one of the same length"
            )
        self._nonzero += int(np.count_nonzero(block))
        self._array.append(block)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]:
        if self._stack is not None:
            self._stack.__exit__(kind, error, trace)
            cells = self._array.length * self.width
            if kind is None and self._choose and self._nonzero < SPARSE_BELOW * cells:
                _to_sparse(self._writer)
        return False


class MatrixStream:
    """A matrix whose row i is node i."""

    def __init__(self, path: Path, matrix: Any, part_bytes: int) -> None:
        self._path, self._matrix, self._part_bytes = path, matrix, part_bytes

    def __len__(self) -> int:
        return int(self._matrix.shape[0])

    def write(self, writer: GraphWriter, report: Any) -> int:
        """Write the attributes; returns how many there are."""
        matrix, width = self._matrix, int(self._matrix.shape[1])
        if not isinstance(matrix, np.ndarray):
            if is_sparse(matrix):
                writer.save_sparse(matrix)
            else:
                writer.save("x", matrix.numpy())
            return width
        size = max(1, self._part_bytes // max(1, 4 * width))
        with AttributeWriter(writer, str(self._path), choose=False) as attributes:
            for start in range(0, len(matrix), size):
                block = attribute_tensor(matrix[start : start + size], str(self._path)).numpy()
                bad = np.argwhere(~np.isfinite(block))
                if len(bad):
                    raise InputError(
                        f"{self._path} row {start + bad[0, 0]}, column {bad[0, 1]}: the value is "
                        "not finite; every attribute must be a finite number"
                    )
                attributes.append(block)
                report(start + len(block), len(matrix), "")
        return width


def open_matrix(path: Path, part_bytes: int, memory: int) -> MatrixStream:
    """Open a `.npy` file, which is read in blocks, or a `.npz` file, which is read as a whole."""
    if path.suffix == ".npy" and path.is_file():
        try:
            matrix = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            matrix = None  # whatever is wrong, the other reader says it
        if matrix is not None and matrix.dtype.kind in "fiub" and matrix.ndim == 2 and matrix.size:
            return MatrixStream(path, matrix, part_bytes)
    if path.suffix == ".npz" and path.is_file():
        check_unpacked(path, memory)
    return MatrixStream(path, checked_attributes(read_matrix(path)), part_bytes)


def check_unpacked(path: Path, memory: int) -> None:
    """Check that the arrays of a `.npz` file fit into memory."""
    try:
        with ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except BadZipFile:
        return  # the reader says so
    if size > memory:
        raise InputError(
            f"{path} takes {size >> 20:,} MB unpacked, and the memory is limited to "
            f"{memory >> 20:,} MB; save it with numpy.save, which is read in blocks, or allow more"
        )


def _to_sparse(writer: GraphWriter) -> None:
    """Turn `x.npy` into its CSR parts."""
    x = np.load(writer.path / "x.npy", mmap_mode="r", allow_pickle=False)
    size = max(1, BLOCK // x.shape[1])
    with (
        writer.growing("x_indptr", np.int64) as indptr,
        writer.growing("x_indices", np.int64) as indices,
        writer.growing("x_values", np.float32) as values,
    ):
        indptr.append(np.zeros(1, dtype=np.int64))
        for start in range(0, len(x), size):
            block = scipy.sparse.csr_array(x[start : start + size])
            indptr.append(block.indptr[1:].astype(np.int64) + values.length)
            indices.append(block.indices)
            values.append(block.data)
    del x
    (writer.path / "x.npy").unlink()

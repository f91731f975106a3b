import numpy as np
import pytest
import scipy.sparse

from brgcl.data import matrix_stream
from brgcl.data.graph_writer import GraphWriter
from brgcl.data.matrix_stream import AttributeWriter, check_unpacked
from brgcl.errors import InputError


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_what_is_mostly_zero_is_stored_sparse(tmp_path, monkeypatch, share):
    monkeypatch.setattr(matrix_stream, "BLOCK", 35)
    rng = np.random.default_rng(0)
    x = (rng.random((40, 7)) * (rng.random((40, 7)) < share)).astype(np.float32)
    with AttributeWriter(GraphWriter(tmp_path), "x") as attributes:
        for block in np.array_split(x, 5):
            attributes.append(block)
    assert attributes.width == 7
    if share == 0.5:
        assert np.array_equal(np.load(tmp_path / "x.npy"), x)
        assert [file.name for file in tmp_path.iterdir()] == ["x.npy"]
        return
    parts = (np.load(tmp_path / f"x_{part}.npy") for part in ("values", "indices", "indptr"))
    assert np.array_equal(scipy.sparse.csr_array(tuple(parts), shape=x.shape).toarray(), x)
    assert not (tmp_path / "x.npy").exists()


def test_blocks_have_one_width(tmp_path):
    with AttributeWriter(GraphWriter(tmp_path), "x") as attributes:
        attributes.append(np.ones((2, 3), np.float32))
        with pytest.raises(InputError, match="x: a column holds vectors of different lengths"):
            attributes.append(np.ones((2, 4), np.float32))


def test_an_archive_has_to_fit_into_memory(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", np.zeros((1000, 300)))
    check_unpacked(tmp_path / "x.npz", 3 << 20)
    with pytest.raises(InputError, match="takes 2 MB unpacked, and the memory is limited to 1 MB"):
        check_unpacked(tmp_path / "x.npz", 1 << 20)

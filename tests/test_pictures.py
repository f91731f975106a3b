import pytest

pytest.importorskip("matplotlib")

from brgcl.errors import InputError
from brgcl.pictures import check_picture, new_figure, save_picture


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_the_same_picture_gives_the_same_file(tmp_path, ending):
    files = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for file in files:
        figure, (axes,) = new_figure("A title", 3, 2, [(0, 0)])
        axes.plot([1, 2], [3, 4])
        save_picture(figure, file)
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert {path.name for path in tmp_path.iterdir()} == {f"a.{ending}", f"b.{ending}"}
    if ending == "svg":
        assert b"<dc:date>" not in first


def test_a_picture_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    check_picture(tmp_path / "a.SVG")
    with pytest.raises(InputError, match=r"written as .svg, .png or .pdf, got 'a.gif'"):
        check_picture(tmp_path / "a.gif")
    monkeypatch.setattr("brgcl.pictures.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'brgcl\[report\]'"):
        check_picture(tmp_path / "a.svg")

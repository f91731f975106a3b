"""Colours of classes differ for every reader; the matrices are those of Machado et al. (2009)."""

import itertools
import re

import numpy as np
import pytest

from brgcl.report.page import read_static

VISIONS = {
    "all colours": np.eye(3),
    "no red": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.052]],
    "no green": [[0.3673, 0.8606, -0.228], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    "no blue": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def colours(theme):
    classes = read_static("palette.js").split("const CLASSES")[1].split("const NUMBERS")[0]
    return re.findall("#[0-9a-f]{6}", re.search(rf"{theme}: \[(.*)\]", classes).group(1))


def cielab(colour, vision):
    """CIELAB of a colour as a reader sees it, `(3,)`."""
    values = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(np.array(VISIONS[vision]) @ linear, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_two_colours_of_classes_look_alike(theme, vision):
    """A difference of 2.3 is just noticed; these are seven times that."""
    seen = [cielab(colour, vision) for colour in colours(theme)]
    assert len(seen) == 8
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 16

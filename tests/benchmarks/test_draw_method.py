from xml.etree import ElementTree

import pytest

from draw_method import BOXES, FILE, HEIGHT, WIDTH, draw_method


def test_the_picture_is_the_one_that_is_drawn():
    assert FILE.read_text(encoding="utf-8") == draw_method(), "python benchmarks/draw_method.py"


def test_the_picture_is_xml_with_every_title():
    texts = [element.text for element in ElementTree.fromstring(draw_method()).iter()]
    assert {box.title for box in BOXES} <= set(texts)


def test_no_box_covers_another_or_leaves_the_picture():
    for number, box in enumerate(BOXES):
        assert 0 <= box.x <= box.x + box.width <= WIDTH
        assert 0 <= box.y <= box.y + box.height <= HEIGHT
        for other in BOXES[:number]:
            apart_in_x = box.x >= other.x + other.width or other.x >= box.x + box.width
            apart_in_y = box.y >= other.y + other.height or other.y >= box.y + box.height
            assert apart_in_x or apart_in_y, (box.title, other.title)


@pytest.mark.parametrize("box", BOXES, ids=lambda box: box.title)
def test_texts_fit_into_their_box(box):
    assert len(box.title) * 8 < box.width
    assert all(len(line) * 7.2 < box.width for line in box.lines)

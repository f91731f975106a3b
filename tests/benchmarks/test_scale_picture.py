import pytest

from scale_picture import draw_slopes, points, slope

RECORDS = {
    "20k partitioned 4": {"epoch_seconds": 2.0, "after_epochs_seconds": 5.0, "peak_mb": 700.0},
    "1m partitioned 10": {"epoch_seconds": 100.0, "after_epochs_seconds": 90.0, "peak_mb": 4000.0},
    "1m cca-ssg-256 3": {"epoch_seconds": 60.0, "peak_mb": 10_600.0},
    "50k ranks 2 4": {"epoch_seconds": 1.0, "peak_mb": 1.0},
}


def test_points_are_of_one_mode_in_the_order_of_sizes():
    assert points(RECORDS, "partitioned", "epoch_seconds") == [(20_000, 2.0), (1_000_000, 100.0)]
    assert points(RECORDS, "cca-ssg-256", "after_epochs_seconds") == []


def test_a_linear_cost_has_the_exponent_one():
    assert slope([(20_000, 2.0), (100_000, 7.0), (1_000_000, 100.0)]) == pytest.approx(1)


def test_the_picture_names_what_it_shows(tmp_path):
    draw_slopes(RECORDS, tmp_path / "slopes.svg")
    text = (tmp_path / "slopes.svg").read_text(encoding="utf-8")
    assert text.count("(by parts: nodes to the power 1.00)") == 1
    assert "CCA-SSG, whole graph" in text

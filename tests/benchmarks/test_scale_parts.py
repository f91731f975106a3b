from scale_parts import table


def record(parts, seed, clean, noisy):
    accuracy = {"0.0": clean, "0.4": noisy}
    return {"graph": "pubmed", "parts": parts, "seed": seed, "accuracy": accuracy}


def test_differences_are_paired_by_draw():
    records = [
        record(None, 0, 0.80, 0.60), record(10, 0, 0.81, 0.60),
        record(None, 1, 0.70, 0.50), record(10, 1, 0.73, 0.50),
        record(10, 2, 0.10, 0.10),
    ]  # fmt: skip
    lines = table(records).splitlines()
    assert "| pubmed | clean | whole | 2 | 75.0 |  |" in lines
    assert "| pubmed | clean | 10 | 2 | 77.0 | +2.00 ± 1.00 |" in lines
    assert "| pubmed | 40% symmetric noise | 10 | 2 | 55.0 | +0.00 ± 0.00 |" in lines
    assert not any("| 50 |" in line for line in lines)

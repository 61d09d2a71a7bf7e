import pytest

from sk_han.rendering.blocks import Axis, Chart, Curve, Heading, ticks
from sk_han.rendering.html import page
from tests.html_page import Page

UNIT = Axis("share", 0, 1, ticks(0, 1))


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0.12, 0.94), (-3, 1e5), (1e-7, 2e-7), (5, 5), (0.0, 1e9)]
)
def test_ticks_are_few_round_and_inside(low, high):
    values = [value for value, _ in ticks(low, high)]
    assert 1 <= len(values) <= 8
    assert all(low - 1e-6 * abs(low) <= value <= high * (1 + 1e-9) for value in values)


@pytest.mark.parametrize("last", [1, 2, 7, 40, 1000])
def test_whole_ticks_are_integers_without_repetition(last):
    texts = [text for _, text in ticks(1, last, whole=True)]
    assert texts == [str(int(text)) for text in texts]
    assert len(set(texts)) == len(texts) <= 8


def drawn(curve, x=UNIT, y=UNIT, description="a chart", columns=()):
    return Page(
        page([Heading("Title", 1), Chart(description, x, y, [curve], "", columns)], full_page=True)
    )


def test_high_values_are_above_low_ones():
    low, high = drawn(Curve("", [(0, 0), (1, 1)], "toward", ["low", "high"])).attributes("circle")
    assert float(low["cx"]) < float(high["cx"])
    assert float(low["cy"]) > float(high["cy"])


def test_every_text_of_a_chart_is_escaped():
    axis = Axis("<script>", 0, 1, [(0, "<script>")])
    curve = Curve("<script>", [(0, 0)], "toward", ["<script>"])
    found = drawn(curve, axis, axis, "<script>", [(0, 1, 1, "<script>")])
    assert "script" not in {tag for tag, _ in found.tags}
    assert found.all_text.count("<script>") == 7


def test_an_axis_of_one_value_is_no_error():
    axis = Axis("epoch", 1, 1, ticks(1, 1, whole=True))
    (line,) = drawn(Curve("", [(1, 1)], "toward"), axis, axis).attributes("polyline")
    assert "nan" not in line["points"]

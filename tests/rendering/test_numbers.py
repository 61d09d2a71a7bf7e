"""Numbers as pages and texts write them."""

import pytest

from sk_han.rendering.blocks import decimal, number, percent, points


@pytest.mark.parametrize(
    ("share", "written"),
    [(0.073, "7 %"), (0.012, "1.2 %"), (0.0002, "below 0.1 %"), (0.0, "0 %")],
)
def test_a_small_share_has_a_decimal(share, written):
    assert percent(share).replace("\N{NO-BREAK SPACE}", " ") == written


def test_what_is_not_the_whole_is_not_written_as_such():
    space = "\N{NO-BREAK SPACE}"
    written = [percent(share).replace(space, "") for share in (1.0, 0.9996, 0.9962, 0.994)]
    assert written == ["100%", "above 99.9%", "99.6%", "99%"]
    assert percent(0.99975, 1) == f"above 99.9{space}%"
    assert percent(-0.0) == f"0{space}%"
    assert percent(-0.0182) == f"\N{MINUS SIGN}1.8{space}%"


def test_points_of_a_difference_are_not_0_unless_it_is():
    minus = "\N{MINUS SIGN}"
    found = [points(difference) for difference in (-0.0, 0.0, 0.0004, -0.0004, -0.0131)]
    assert found == ["+0.0", "+0.0", "+0.04", f"{minus}0.04", f"{minus}1.3"]


def test_what_rounds_to_0_has_no_sign():
    assert [decimal(value, 2) for value in (-0.004, 0.0, -0.005001, 1.006)] == [
        "0.00",
        "0.00",
        "-0.01",
        "1.01",
    ]


def test_a_large_value_has_three_digits():
    assert [number(value, signed=True) for value in (0.25, 0.0, 1234.5)] == [
        "+0.250",
        "0",
        "+1.23e+03",
    ]

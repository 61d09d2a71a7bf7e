import pytest

from sk_han.utils.messages import in_one_line, in_reading_order, shortened_apart, visible


@pytest.mark.parametrize(
    ("function", "text", "shown"),
    [
        (visible, "a\x00b\x1b[31m", "a␀b␛[31m"),
        (visible, "tab\tand\nline \ud800\x85", "tab\tand\nline ��"),
        (in_reading_order, "price \u202e001\x00", "price �001␀"),
        (in_one_line, "very\n good\x00", "very good␀"),
    ],
)
def test_what_could_control_a_terminal_or_turn_a_line_is_replaced(function, text, shown):
    assert function(text) == shown


@pytest.mark.parametrize(
    ("label", "longest", "shown"),
    [
        ("abcdefgh", 8, "abcdefgh"),
        ("a common begin", 8, "a co…gin"),
        ("a common end", 8, "a co…end"),
        ("a common end", 7, "a c…end"),
        ("another common end", 7, "ano…end"),
        ("long", 1, "…"),
    ],
)
def test_a_long_label_lacks_its_middle_so_that_labels_that_begin_alike_differ(
    label, longest, shown
):
    assert in_one_line(label, longest) == shown


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        (["long, north, end", "long, south, end"], ["…nor…end", "…sou…end"]),
        (["long, an inner part, end", "long, an inner path, end"], ["…rt, end", "…th, end"]),
        (
            ["long, one, end", "long, two, end", "long, two, end"],
            ["…one…end", "…two…end", "…two…end"],
        ),
        (
            ["long, a1 same b2, end", "long, a1 same b3, end", "long, c, end"],
            ["…2, end", "…3, end", "…c, end"],
        ),
        (["short", "long, long, long"], ["short", "long…ong"]),
        ([], []),
    ],
)
def test_long_labels_that_begin_and_end_alike_differ_too(texts, shown):
    assert shortened_apart(texts, 8) == shown

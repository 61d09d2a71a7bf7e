"""Numbers of things as messages write them."""

import numpy as np

from sk_han.utils.messages import a_kind, agreeing, counted


def test_one_thing_is_singular_and_thousands_have_a_comma():
    assert (counted(1), counted(1200, "label")) == ("1 document", "1,200 labels")
    assert (counted(1, "class"), counted(2, "class")) == ("1 class", "2 classes")


def test_a_verb_follows_the_number():
    assert [agreeing(1, verb) for verb in ("are", "have", "were", "stand")] == [
        "is",
        "has",
        "was",
        "stands",
    ]
    assert [agreeing(n, "have") for n in (0, 2)] == ["have", "have"]


def test_a_kind_has_its_article():
    values = (3, [], None, np.zeros(2), object(), "", 1.5)
    expected = ["an int", "a list", "a NoneType", "an ndarray", "an object", "a str", "a float"]
    assert [a_kind(value) for value in values] == expected

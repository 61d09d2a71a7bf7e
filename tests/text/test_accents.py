"""Accents are removed as scikit-learn removes them."""

import pytest
from sklearn.feature_extraction.text import strip_accents_ascii, strip_accents_unicode

from sk_han._text.reader import ACCENT_STRIPPERS

OF_SCIKIT_LEARN = {"ascii": strip_accents_ascii, "unicode": strip_accents_unicode}


@pytest.mark.thorough
@pytest.mark.parametrize("name", OF_SCIKIT_LEARN)
def test_every_character_is_normalized_as_in_scikit_learn(name):
    ours, theirs = ACCENT_STRIPPERS[name], OF_SCIKIT_LEARN[name]
    assigned = [*range(0, 0x40000, 4096), *range(0xE0000, 0xF0000, 4096)]  # planes with characters
    for start in assigned:  # a character a line, since a call takes longer
        lines = "\n".join(map(chr, range(start, start + 4096)))
        assert ours(lines).split("\n") == theirs(lines).split("\n"), f"from {start:#x} on"


@pytest.mark.parametrize("name", OF_SCIKIT_LEARN)
@pytest.mark.parametrize(
    "word",
    [
        "",
        "film",
        "Ångström",
        "naı̈ve",
        "\ud800x",
        "ﬁancé",
        "東京",
        "e\u0301\u0302",
        "aé\u0301\u0316b" * 200,
    ],
)
def test_words_are_normalized_as_in_scikit_learn(name, word):
    assert ACCENT_STRIPPERS[name](word) == OF_SCIKIT_LEARN[name](word)

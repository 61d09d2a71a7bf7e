"""Tables of characters and abbreviations, and the patterns made of them."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_han._text.analyzer import TOKEN_PATTERNS, compile_token_pattern
from sk_han._text.sentences import (
    _LONGEST_ABBREVIATION,
    BEFORE_NAME,
    BEFORE_NUMBER,
    CHARACTER_MARKS,
    CHARACTER_WORDS,
    MAY_END,
    MONTHS,
    WORD_CHARACTERS,
)

PIECES = st.lists(
    st.sampled_from(
        [*"!?.,;:()[]\"'@#$%&*/-_+=|<> \n", "a", "B", "word", "1", "23", ":-)", "C++", ".NET"]
    ),
    max_size=40,
).map("".join)


@pytest.mark.thorough
@pytest.mark.parametrize("tokens", TOKEN_PATTERNS)
@given(text=st.one_of(st.text(st.characters(codec="ascii"), max_size=200), PIECES))
def test_words_of_ascii_text_are_found_as_in_any_text(tokens, text):
    in_ascii, in_any = compile_token_pattern(TOKEN_PATTERNS[tokens])
    assert in_ascii.findall(text) == in_any.findall(text)


@pytest.mark.parametrize("characters", [WORD_CHARACTERS + CHARACTER_WORDS, CHARACTER_MARKS])
def test_character_tables_hold_no_punctuation_or_space(characters):
    found = re.findall(f"[{characters}]", "".join(map(chr, range(0x10000))))
    later = "\u1b4e\u1b4f"  # assigned by Unicode 16, within the range of a script
    assert [
        c
        for c in found
        if unicodedata.category(c)[0] in "PZC" and unicodedata.name(c, "") and c not in later
    ] == []


def test_character_tables_cover_all_living_scripts():
    table = re.compile(f"[{WORD_CHARACTERS}{CHARACTER_WORDS}{CHARACTER_MARKS}]")
    missing = [
        chr(code)
        for code in range(0xFFFF)
        if unicodedata.category(chr(code)) in ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd")
        and not table.match(chr(code))
    ]
    # Left out on purpose: variation selectors and marks that enclose or follow symbols.
    purpose = "\u20d0-\u20f0\ufe00-\ufe0f\u2e2f"
    assert re.sub(f"[{purpose}]", "", "".join(missing)) == ""


def test_letters_of_newer_unicode_are_recognized_on_every_python_version():
    # Of Unicode 15, 16 and 17, where a release of Python may have an older one.
    table = re.compile(f"[{WORD_CHARACTERS}{CHARACTER_WORDS}{CHARACTER_MARKS}]")
    newer = "\u088f\u0897\u0c5c\u0cdc\u0cf3\u0ece\u1acf\u1c89\u1c8a\ua7cb\ua7d2\ua7dc\ua7f1"
    assert table.findall(newer) == list(newer)


def test_character_tables_do_not_overlap():
    tables = [re.compile(f"[{t}]") for t in (WORD_CHARACTERS, CHARACTER_WORDS, CHARACTER_MARKS)]
    assigned = [*range(0x40000), *range(0xE0000, 0xF0000)]  # other planes have no characters
    every = "".join(map(chr, assigned))
    found = [set(table.findall(every)) for table in tables]
    assert sum(map(len, found)) == len(set().union(*found))


def test_every_listed_abbreviation_can_be_found():
    for listed in (BEFORE_NAME, BEFORE_NUMBER, MAY_END):
        assert max(map(len, listed)) <= _LONGEST_ABBREVIATION
        assert not any(entry.endswith(".") for entry in listed)
    for entry in (*BEFORE_NUMBER, *MAY_END, *MONTHS):
        assert entry == entry.lower()

import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_han.text.analyzer import TOKEN_PATTERNS, compile_token_pattern
from sk_han.text.sentences import CHARACTER_MARKS, CHARACTER_WORDS, WORD_CHARACTERS

PATTERNS = {kind: compile_token_pattern(pattern) for kind, pattern in TOKEN_PATTERNS.items()}


def words(text, tokens="words"):
    """Find words, in text in ASCII by both patterns."""
    in_ascii, in_any = PATTERNS[tokens]
    found = in_any.findall(text)
    assert not text.isascii() or in_ascii.findall(text) == found
    return found


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
    in_ascii, in_any = PATTERNS[tokens]
    assert in_ascii.findall(text) == in_any.findall(text)


@pytest.mark.parametrize(
    ("text", "marks", "web"),
    [
        ("Well, no.", "Well , no .", "Well , no ."),
        ("Why?! Stop!!! So...", "Why ? ! Stop !!! So ...", "Why ? ! Stop !!! So ..."),
        ('a "b" (c); d: e', 'a " b " ( c ) ; d : e', 'a " b " ( c ) ; d : e'),
        ("----- ~~ __ ==", "", ""),
        ("***** # # ///", "***** # # ///", "***** # # ///"),
        ("snake_case well-known", "snake case well known", "snake case well known"),
        ("$50.99 3.5/10 90%", "$ 50 . 99 3 . 5 / 10 90 %", "$50.99 3.5/10 90%"),
        ("@ann #NoFun", "@ ann # NoFun", "@ann #NoFun"),
        ("a@b.org", "a @ b . org", "a @b . org"),
        (":-) ;P <3", ": ) ; P 3", ":-) ;P <3"),
        ("C++ C# F# .NET", "C C # F # . NET", "C++ C# F# .NET"),
        ("f**king", "f ** king", "f**king"),
        ("👍🏽 👍👍", "👍 👍 👍", "👍🏽 👍👍"),
        ("好！！？", "好 ！！ ？", "好 ！！ ？"),
        ("4x4 2nd", "4x4 2nd", "4x4 2nd"),
    ],
)
def test_marks_become_words(text, marks, web):
    assert words(text, "words+marks") == marks.split()
    assert words(text, "web") == web.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't stop, it’s O'Neill's.", ["Don't", "stop", "it’s", "O'Neill's"]),
        ("'quoted' rock 'n' roll", ["quoted", "rock", "n", "roll"]),
        ("well-known snake_case", ["well", "known", "snake", "case"]),
        ("3.14 R2-D2", ["3", "14", "R2", "D2"]),
        ("naïve Straße cafe\u0301 Ελλάδα", ["naïve", "Straße", "cafe\u0301", "Ελλάδα"]),
        ("हिन्दी क्षत्रिय", ["हिन्दी", "क्षत्रिय"]),
        ("בְּרֵאשִׁית צה״ל", ["בְּרֵאשִׁית", "צה״ל"]),
        ("العَرَبِيَّة می‌خواهم", ["العَرَبِيَّة", "می‌خواهم"]),
        ("தமிழ் తెలుగు বাংলা", ["தமிழ்", "తెలుగు", "বাংলা"]),
        ("col·lecció hyphen\u00adated", ["col·lecció", "hyphen\u00adated"]),
        ("한국어 단어", ["한국어", "단어"]),
        ("བོད་ཡིག", ["བོད", "ཡིག"]),
    ],
)  # fmt: skip
def test_words_of_scripts_with_spaces_stay_whole(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("电影很好", ["电", "影", "很", "好"]),
        ("iPhone手机15", ["iPhone", "手", "机", "15"]),
        ("コーヒー", ["コー", "ヒー"]),
        ("か\u3099き", ["か\u3099", "き"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("ខ្មែរ", ["ខ្មែ", "រ"]),
        ("မြန်မာ", ["မြ", "န်", "မာ"]),
        ("ພາສາ", ["ພ", "າ", "ສ", "າ"]),
        ("𠮷野", ["𠮷", "野"]),
    ],
)
def test_scripts_without_spaces_give_one_word_a_character_with_its_marks(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    "text", ["👍🏽 ❤️ 👨‍👩‍👧‍👦 🇳🇴", "*** --- ___ ;-)", "\ud800 \0 \x07", "€ © →"]
)
def test_emoji_symbols_and_controls_are_no_words(text):
    assert words(text) == []


@pytest.mark.parametrize("characters", [WORD_CHARACTERS + CHARACTER_WORDS, CHARACTER_MARKS])
def test_character_tables_hold_no_punctuation_or_space(characters):
    found = re.findall(f"[{characters}]", "".join(map(chr, range(0x10000))))
    assert [
        c for c in found if unicodedata.category(c)[0] in "PZC" and unicodedata.name(c, "")
    ] == []


def test_character_tables_hold_every_letter_mark_and_digit_of_living_scripts():
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


def test_letters_and_marks_of_newer_releases_of_unicode_are_known_to_each_python():
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


def test_the_table_of_the_page_on_words_is_true():
    page = Path(__file__).parents[2] / "docs/how_to/tokenizer.md"
    rows = re.findall(
        r"^\| `(.+)` \| (.+) \| (.+) \| (.+) \|$", page.read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) == 13
    for text, *cells in rows:
        told = dict(zip(TOKEN_PATTERNS, cells, strict=True))
        for tokens, cell in told.items():
            expected = told[cell[4:-1]] if cell.startswith("as ") else cell
            assert " · ".join(words(text, tokens)) == expected.replace("nothing", "")

import re
from pathlib import Path

import pytest

from sk_han import HierarchicalTokenizer

KINDS = "words", "words+marks", "web"
TOKENIZERS = {
    kind: HierarchicalTokenizer(tokens=kind, vocabulary=["a"]).fit(["a"]) for kind in KINDS
}


def words(text, tokens="words"):
    return [text[start:end] for start, end in TOKENIZERS[tokens].spans([text])[0].word_spans]


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
def test_marks_are_words_under_the_given_rules(text, marks, web):
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
def test_each_character_is_a_word_in_scripts_without_spaces(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    "text", ["👍🏽 ❤️ 👨‍👩‍👧‍👦 🇳🇴", "*** --- ___ ;-)", "\ud800 \0 \x07", "€ © →"]
)
def test_emoji_symbols_and_controls_are_no_words(text):
    assert words(text) == []


def test_the_table_of_the_tokenizer_page_is_true():
    page = Path(__file__).parents[2] / "docs/how_to/tokenizer.md"
    rows = re.findall(
        r"^\| `(.+)` \| (.+) \| (.+) \| (.+) \|$", page.read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) == 11
    for text, *cells in rows:
        told = dict(zip(KINDS, cells, strict=True))
        for tokens, cell in told.items():
            expected = told[cell[4:-1]] if cell.startswith("as ") else cell
            assert " · ".join(words(text, tokens)) == expected.replace("nothing", "")

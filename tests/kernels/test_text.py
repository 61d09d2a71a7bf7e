"""The compiled kernels that read texts against Python's patterns and rules."""

import random
import sys
import unicodedata
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_han._kernels.engine import kernels, using_engine
from sk_han._text import scanning, sentences
from sk_han._text import sentences as abbreviations
from sk_han._text.analyzer import TOKEN_PATTERNS, TextAnalyzer
from sk_han._text.reader import WordTypes, read_word_types
from sk_han._text.scanning import _WITH_PROPERTIES, tables

pytest.importorskip("numba")

KINDS = ("words", "words+marks")
ANALYZERS = [TextAnalyzer(TOKEN_PATTERNS[kind]) for kind in KINDS]
with using_engine("numba"):
    COMPILED = kernels("text")

LISTED = sorted(set().union(*(getattr(abbreviations, name) for name in abbreviations.__all__)))
PIECES = [
    *" \n\t\r\f\v\x1c\x85\xa0\u2028\u2029\u202f\u3000",
    *".!?…‥‽。！？」』।؟።။",
    *"\"'()[]{}*_”’»›“«‹„‚¿¡「《<>/\\@:=&,;-–•·#~+",
    *"aAbzZéÉßñÑиИςΣİıſK\u212bǅ0159٣५ªºஃ한あア漢กກကမ္မᠨ\u0300\u064b\u093f\u200d\u00ad",
    *("\u200b", "\u2060\ufeff", "a\u00ad\u200bb", "\u034f", "\ufe0f", "ﬁｆﾊﾟ"),
    *"🙂\ud800\U00020000\0",
    *("...", ". . .", "1.", "3. ", "(a) ", "12) ", "\n- ", "\n\n", "---", "<br />", "</P>", "<b>"),
    *("<h1 class='x'>", "<dİv>", "<ſection>", "<br", "<blocKquote >", "end.The", "a@b.Co", "U.S. "),
    *("1. ", " 2. ", " 3. No", "Yahoo! ", "in ", "no ", "N°. ", "五", ".一"),
    *("!!", "??", "？？", "🙂🙂"),
    *("Mr. ", "mr . ", "e. g. ", "J. R. ", "it's", "c’est", "word", "Word ", "слово. ", "λόγος; "),
]
TEXTS = st.lists(
    st.one_of(st.sampled_from(PIECES), st.sampled_from(LISTED), st.text(max_size=3)), max_size=40
).map("".join)


def assert_same(texts):
    for analyzer, located in product(ANALYZERS, (False, True)):
        with using_engine("torch"):
            expected = read_word_types(texts, analyzer, located=located)
        with using_engine("numba"):
            found = read_word_types(texts, analyzer, located=located)
        assert found.types == expected.types
        for name in (name for name in WordTypes.__dataclass_fields__ if name != "types"):
            one, other = getattr(found, name), getattr(expected, name)
            np.testing.assert_array_equal(one, other, err_msg=name)
            assert one is None or one.dtype == other.dtype


@pytest.mark.thorough
@given(st.lists(TEXTS, max_size=4))
def test_all_texts_are_read_as_by_python(texts):
    assert_same(texts)


@pytest.mark.parametrize("seed", range(20))
def test_random_texts_are_read_as_by_python(seed):
    draw = random.Random(seed)
    pieces = PIECES + LISTED + [" ", ". ", " ", "."] * 40
    assert_same(["".join(draw.choices(pieces, k=draw.randrange(80))) for _ in range(100)])


def test_nothing_but_a_broken_tag_may_follow_a_sentence():
    assert_same(["A fine film.<br /><br must see />", "<br see>"])


@pytest.mark.parametrize("part", range(8))
def test_listed_words_are_known_in_any_case(part):
    texts = []
    for word in LISTED[part::8]:
        for form in (word, word.upper(), word.title(), "(" + word, word + "x", "-" + word):
            texts.append(form)
            for following in ("Next", "next", "7", "The", "", "Oktober", "b. "):
                texts += [f"Some {form}. {following} x", f"Some {form} . {following}"]
    assert_same(texts)


def kinds_of(codes):
    """Give what the kernel and Python know of characters, each kind once."""
    bits = [tables(COMPILED, TOKEN_PATTERNS[kind]).bits for kind in KINDS]
    return {(unicodedata.category(chr(code)), *(each[code] for each in bits)) for code in codes}


@pytest.mark.thorough
@pytest.mark.parametrize("code", range(0, 0x110000, 0x1000))
def test_every_character_is_read_as_by_python(code):
    letters = [chr(i) for i in range(code, code + 0x1000)]
    texts = [" ".join(letters)]
    if len(kinds_of(range(max(0, code - 0x1000), code + 0x1000))) > 1:
        texts += [
            "".join(letters),
            "".join(f"a{letter}b. {letter}B so.{letter}t {letter}. A" for letter in letters),
            "".join(f"no{letter} 1.{letter} ok.{letter} next \n{letter} " for letter in letters),
        ]
    assert_same(texts)


@pytest.mark.parametrize(
    "name", [*sentences.TAG_NAMES.split("|"), "b", "brr", "h7", "optionsx", "br_", "bré"]
)
def test_tags_are_read_as_by_python(name):
    names = (name, name.upper(), name.replace("i", "ı"), name.replace("s", "ſ"), name + "\u0301")
    tags = [
        tag.format(n) for n in names for tag in ("<{}>", "</{}>", "<{} a='b'>", "<{}", "<{}<p>")
    ]
    assert_same([f"Some word {tag} Other word {tag} and" for tag in tags])


def test_texts_in_many_chunks_are_read_as_by_python(monkeypatch):
    monkeypatch.setattr(scanning, "_CODES_AT_ONCE", 50)
    assert_same([f"Word {i} w{i % 7}. Also word{i} " * (i % 11) for i in range(200)])


def test_many_and_long_words_are_read_as_by_python():
    assert_same([" ".join(f"word{i}" for i in range(5000)), "x" * 100_000, "y" * 5 + " z" * 9000])


def test_words_with_the_same_hash_are_kept_apart(monkeypatch):
    monkeypatch.setattr(scanning, "_FACTOR", 1)  # words of the same letters: the same value
    assert_same(["abc acb bac bca cab cba ab ba a b c " * 3])


def test_the_number_of_threads_changes_nothing():
    texts = [f"Word {i}. Mr. Smith w{i % 7}! " * (i % 11) for i in range(300)]
    with using_engine("numba"):
        one = read_word_types(texts, ANALYZERS[1], n_jobs=1)
        three = read_word_types(texts, ANALYZERS[1], n_jobs=3)
    assert one.types == three.types
    np.testing.assert_array_equal(one.numbers, three.numbers)


def test_what_can_follow_words_is_no_part_of_one():
    # The kernel finds words before it knows the sentences: none may reach across an end.
    bits = tables(COMPILED).bits
    of_words = COMPILED.WORD | COMPILED.CHARACTER_WORD | COMPILED.MARK | COMPILED.JOINER
    of_words |= COMPILED.IGNORED
    of_ends = COMPILED.WEAK | COMPILED.STRONG | COMPILED.LINE_END | COMPILED.TAG_OPENER
    assert not np.any((bits & of_words > 0) & (bits & (of_ends | COMPILED.SPACE) > 0))
    assert not np.any((bits & COMPILED.WORD > 0) & (bits & COMPILED.CHARACTER_WORD > 0))
    assert not np.any((bits & COMPILED.IGNORED > 0) & (bits & (of_words & ~COMPILED.IGNORED) > 0))


@pytest.mark.thorough
def test_no_abbreviation_has_a_character_beyond_the_lower_case_table():
    lower = {chr(code).lower() for code in range(0x3000, 0x110000)}
    assert not {letter for letters in lower for letter in letters} & set("".join(LISTED))


def test_lower_case_of_abbreviations_does_not_depend_on_context():
    # The kernel takes the first character of a lower case, and the first of the two sigmas.
    assert not set("".join(LISTED).lower()) & {"σ", "ς", "\u0307"}


def test_characters_beyond_the_property_table_are_neither_spaces_nor_alphanumeric():
    # Those that have a case or are digits are alphanumeric too.
    beyond = map(chr, range(_WITH_PROPERTIES, 0x110000))
    assert not [letter for letter in beyond if letter.isalnum() or letter.isspace()]
    assert chr(_WITH_PROPERTIES - 0x10000).isalnum()  # the plane before has some


def test_usual_texts_do_not_need_the_python_rules(monkeypatch):
    monkeypatch.setattr(scanning, "sentence_spans", None)
    text = "\n It rained (and how!). 3.50 for 'this'?! No way... "
    text += "Wow! <br />Next\nline.\n\n很好。是。"
    with using_engine("numba"):
        found = read_word_types([text, ""], ANALYZERS[1], located=True)
    expected = "It rained (and how!).|3.50 for 'this'?!|No way...|Wow!|Next\nline.|很好。|是。"
    assert "|".join(text[start:end] for start, end in found.sentence_spans) == expected


def test_the_kernel_leaves_undecided_sentences_to_python(monkeypatch):
    read, rules = [], scanning.sentence_spans

    def recorded(text, start):
        read.append(text[start:])
        return rules(text, start)

    monkeypatch.setattr(scanning, "sentence_spans", recorded)
    texts = ["One here. We met Mr. Lund. He left.", "Decided here."]
    with using_engine("numba"):
        found = read_word_types(texts, ANALYZERS[0])
    assert read == ["We met Mr. Lund. He left."]
    assert found.sentences_per_document.tolist() == [3, 1]


def test_few_texts_do_not_load_numba(monkeypatch):
    monkeypatch.delitem(sys.modules, "numba")
    monkeypatch.setattr("sk_han._kernels.engine._LOADED", {})
    assert kernels("text", worth_loading=False) is None

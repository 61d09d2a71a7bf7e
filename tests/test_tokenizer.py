import pickle
import re
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from sk_han import DocumentArray, HierarchicalTokenizer

pytestmark = pytest.mark.usefixtures("engine")

TEXTS = ["A fine film. Don't miss it!", "", "Dull. A dull film.", "  \n"]


UNKNOWN_WORD = "<unknown>"


def read(texts, **params):
    tokenizer = HierarchicalTokenizer(**params)
    return tokenizer.inverse_transform(tokenizer.fit_transform(texts))


# Ids and vocabulary


# Of each pair the second is another spelling of the first.
SPELLINGS = [
    ("Café Ångström", "Cafe\u0301 A\u030angstro\u0308m"),
    ("ȩ\u0301ế", "e\u0301\u0327e\u0302\u0301"),
    ("영화가", "\u110b\u1167\u11bc\u1112\u116a\u1100\u1161"),
    ("がプ", "か\u3099フ\u309a"),
    ("don't м'ята", "don’t мʼята"),
    ("Lebensmittel fünf", "Lebens\u00admit\u00adtel f\u200b\u2060ü\ufeffnf"),
    ("Auflage", "Auf\u200clage"),
    ("office Film 12", "oﬃce Ｆｉlm １２"),
    ("Formel ĳssel džep".replace("ĳ", "ij"), "𝐅𝑜rmel ĳssel ǆep"),
    ("مرحبا الله", "ﻣﺮﺣﺒﺎ ﺍﻟﻠﻪ"),
    ("パンガー", "ﾊﾟﾝｶﾞｰ"),
]


@pytest.mark.parametrize(
    "params", [{}, {"tokens": "words"}, {"tokens": "web"}, {"lowercase": False}]
)
@pytest.mark.parametrize(("text", "other"), SPELLINGS)
def test_other_spellings_share_an_id_and_keep_their_offsets(text, other, params):
    tokenizer = HierarchicalTokenizer(**params).fit([text])
    assert tokenizer.vocabulary_ == HierarchicalTokenizer(**params).fit([other]).vocabulary_
    located = [tokenizer.locate([spelling]) for spelling in (text, other)]
    assert located[0][0].to_nested() == located[1][0].to_nested()
    for (_, (spans,)), spelling in zip(located, (text, other), strict=True):
        words = "".join(spelling[a:b] for a, b in spans.word_spans)
        assert words == "".join(spelling.split())


@pytest.mark.parametrize(
    "words",
    [
        ["ㅋㅠ", "ᄏ"],
        ["x²", "x2"],
        ["می\u200cخواهم", "میخواهم"],
        ["ﷺ"],
        ["\u3164ㄱ", "ㄱ"],
    ],
    ids=["Korean letters", "powers", "joiners that join", "a phrase", "a filler"],
)
def test_letters_with_another_meaning_stay_distinct_words(words):
    vocabulary = HierarchicalTokenizer().fit([" ".join(words)]).vocabulary_
    assert set(vocabulary) == {word.lower() for word in words}


def test_a_word_of_invisible_characters_is_left_out():
    assert read(["a \u200b\u00ad\ufeff b"], token_pattern=r"\S+") == [[["a", "b"]]]


def test_stop_words_and_vocabulary_are_normalized_like_texts():
    tokenizer = HierarchicalTokenizer(vocabulary=["ﬁlm"], stop_words=["o\u00adf"]).fit(["a"])
    assert tokenizer.transform(["of ｆｉｌｍ"]).to_nested() == [[[2]]]


def test_fit_transform_equals_fit_and_then_transform():
    for output in ("ragged", "padded"):
        tokenizer = HierarchicalTokenizer(stop_words=["a"], max_words=3, min_df=2, output=output)
        at_once = tokenizer.fit_transform(TEXTS)
        assert pickle.dumps(at_once) == pickle.dumps(tokenizer.fit(TEXTS).transform(TEXTS))


@pytest.mark.parametrize("min_df", [1, 2, 3, 0.0, 0.3, 0.5, 1.0])
def test_min_df_keeps_the_words_that_countvectorizer_keeps(min_df):
    texts = ["aa bb cc", "aa BB aa", "aa dd DD dd"]
    kept = CountVectorizer(min_df=min_df).fit(texts).vocabulary_
    assert set(HierarchicalTokenizer(min_df=min_df).fit(texts).vocabulary_) == set(kept)


def test_ids_are_sorted_by_frequency_then_alphabetically():
    expected = {"c": 2, "b": 3, "d": 4, "a": 5, "e": 6}
    for n in (None, 2):
        tokenizer = HierarchicalTokenizer(tokens="words", max_features=n)
        found = tokenizer.fit(["b c c. a b c d", "d e"]).vocabulary_
        assert list(found.items()) == list(expected.items())[:n]
        assert {type(i) for i in found.values()} == {int}


# Words and sentences


# Parameters, a text, and its sentences joined by "/".
READ = {
    "case": ({}, "The the", "the the"),
    "case kept": ({"lowercase": False}, "The the", "The the"),
    "accents": ({}, "Café Ø 日 İ", "café ø 日 i̇"),
    "no accents": ({"strip_accents": "unicode"}, "Café Ø 日 İ", "cafe ø 日 i"),
    "ASCII": ({"strip_accents": "ascii"}, "Café Ø 日 İ", "cafe i"),
    "own accents": ({"strip_accents": lambda word: word.replace("ø", "oe")}, "é Ø", "é oe"),
    "stop words": ({"stop_words": ["the", "IS", "it"]}, "The end<br>It is the<br>So?", "end/so ?"),
    "English": ({"stop_words": "english"}, "This is the end of it", "end"),
    "words": ({"tokens": "words"}, "It cost $50!\n\n***\n\n#fun", "it cost 50/fun"),
    "web": ({"tokens": "web"}, "It cost $50! :-) #fun", "it cost $50 !/:-) #fun"),
    "raw pattern": ({"token_pattern": "[a-z]+"}, "Ab cd E!", "b cd"),
    "empty matches": ({"token_pattern": "[a-z]*"}, "ab, c", "ab c"),
    "pattern and tokens": ({"tokens": "words+marks", "token_pattern": "[a-z]"}, "a b!", "a b"),
    "limits": (
        {"stop_words": ["the"], "max_sentences": 1, "max_words": 1},
        "The<br>The end is. No",
        "end",
    ),
    "splitter": ({"sentence_splitter": lambda text: text.split(";")}, "A. B; c", "a . b/c"),
    "tokenizer": (
        {"word_tokenizer": str.split, "stop_words": ["the"], "strip_accents": "unicode"},
        "The Café!",
        "cafe!",
    ),
}


@pytest.mark.parametrize(("params", "text", "expected"), READ.values(), ids=READ)
def test_words_depend_on_the_parameters(params, text, expected):
    assert ["/".join(map(" ".join, document)) for document in read([text], **params)] == [expected]


def test_a_group_of_the_token_pattern_is_the_word():
    tokenizer = HierarchicalTokenizer(token_pattern=r"#(\w+)").fit(["see #one and #two"])
    assert tokenizer.vocabulary_ == {"one": 2, "two": 3}
    assert tokenizer.spans(["see #one"])[0].word_spans.tolist() == [[5, 8]]


REFUSED = [
    ({"min_df": 2}, ["a", "b"], r"no word occurs in 2 of 2 documents\. .*lower min_df"),
    ({"stop_words": "english"}, ["", "---", "<br />", "The of"], "empty vocabulary; perhaps"),
    ({"token_pattern": "(a)(b)"}, TEXTS, "may have one group"),
    ({"token_pattern": "(", "vocabulary": ["a"]}, TEXTS, "not a regular expression"),
    ({"strip_accents": lambda word: None}, TEXTS, "must return a string .* objects of type None"),
    ({}, ["a", 1], "Document 1 is an int"),
    ({"vocabulary": ["a"]}, ["a", 1], "Document 1 is an int"),
]


@pytest.mark.parametrize(("params", "texts", "message"), REFUSED)
def test_a_failed_fit_keeps_the_vocabulary(params, texts, message):
    tokenizer = HierarchicalTokenizer().fit(["a b"]).set_params(**params)
    for learn, X in ((tokenizer.fit, texts), (tokenizer.fit_transform, iter(texts))):
        with pytest.raises((ValueError, TypeError), match=message):
            learn(X)
    assert tokenizer.vocabulary_ == {"a": 2, "b": 3}


# Shape of the output


@pytest.mark.parametrize(
    ("max_sentences", "max_words", "expected"),
    [
        (1, None, ["one two three .", "", "seven eight ."]),
        (None, 1, ["one/four/five", "", "seven/nine"]),
        (2, 2, ["one two/four .", "", "seven eight/nine"]),
        (3, 4, ["one two three ./four ./five six .", "", "seven eight ./nine"]),
    ],
)
def test_limits_keep_the_first_sentences_and_words(max_sentences, max_words, expected):
    texts = ["One two three. Four. Five six.", "", "Seven eight. Nine"]
    found = read(texts, max_sentences=max_sentences, max_words=max_words)
    assert ["/".join(map(" ".join, document)) for document in found] == expected


def test_padded_output_equals_the_padded_ragged_one():
    ragged = HierarchicalTokenizer().fit_transform(TEXTS)
    assert isinstance(ragged, DocumentArray)
    assert ragged.sentences_per_document.tolist() == [2, 0, 2, 0]
    padded = HierarchicalTokenizer(output="padded").fit_transform(TEXTS)
    assert padded.dtype == np.int32
    np.testing.assert_array_equal(padded, ragged.pad())
    limited = HierarchicalTokenizer(output="padded", max_sentences=5, max_words=7)
    assert limited.fit(TEXTS).transform(["a"]).shape == (1, 5, 7)


def test_inverse_transform_takes_every_form_of_documents():
    tokenizer = HierarchicalTokenizer(tokens="words").fit(TEXTS)
    documents = tokenizer.transform(["A new film. Dull!"])
    for X in (documents, documents.pad(), documents.to_nested()):
        assert tokenizer.inverse_transform(X) == [[["a", UNKNOWN_WORD, "film"], ["dull"]]]
    assert tokenizer.inverse_transform([[[99]]]) == [[[UNKNOWN_WORD]]]


# Spans


def test_spans_of_a_document_worked_by_hand():
    text = " Yes.<br />I do!"
    (spans,) = HierarchicalTokenizer().fit([text]).spans([text])
    assert spans.sentence_spans.tolist() == [[1, 5], [11, 16]]
    assert spans.word_spans.tolist() == [[1, 4], [4, 5], [11, 12], [13, 15], [15, 16]]
    assert spans.sentence_of_word.tolist() == [0, 0, 1, 1, 1]
    assert spans.truncated is False
    assert {array.dtype for array in spans[:3]} == {np.dtype(np.int64)}


@pytest.mark.parametrize(
    ("text", "truncated"),
    [("One two<br>Six.", False), ("One two six", True), ("One<br>Two<br>Six", True), ("", False)],
)
def test_spans_tell_whether_a_limit_cut_something_off(text, truncated):
    tokenizer = HierarchicalTokenizer(max_sentences=2, max_words=2).fit(["a"])
    (spans,) = tokenizer.spans([text])
    assert spans.truncated is truncated
    assert spans.sentence_spans.shape[1:] == spans.word_spans.shape[1:] == (2,)


PIECES = st.lists(
    st.sampled_from(
        [". ", "! ", "…", "。", "।", " ", "\n\n", "<br />", "<", '"', "Mr", "a", "The", "1", "\0"]
        + ["Don't", "好", "ที่", "É", "e\u0301", "İ", "ß", "हि", "ש\u05b0", "👨\u200d👩", "\ud800"]
        + ["\u00ad", "\u200b", "\u200c", "ﬁ", "ｆ", "ﾊﾟ", "ㅋㅠ", "x²"]
    ),
    max_size=30,
).map("".join)
ANY_TEXT = st.one_of(st.text(st.characters(codec=None, categories=None), max_size=100), PIECES)
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "lowercase": st.booleans(),
        "strip_accents": st.sampled_from(["ascii", "unicode"]),
        "stop_words": st.just(["a", "the"]),
        "max_sentences": st.integers(1, 3),
        "max_words": st.integers(1, 3),
        "tokens": st.sampled_from(["words", "words+marks", "web"]),
        "token_pattern": st.sampled_from([r"\w+", r"(?u)\b\w\w+\b", r"\w+(?=\s)", "[A-Z]*"]),
        "word_tokenizer": st.sampled_from([str.split, lambda s: re.findall("[a-z]+", s.lower())]),
        "sentence_splitter": st.sampled_from([str.splitlines, lambda text: re.split("[.!]", text)]),
    },
)


@pytest.mark.thorough
@given(st.lists(ANY_TEXT, min_size=1, max_size=4), PARAMS)
@example(["A. b"], {"stop_words": ["a"]})
def test_spans_match_the_words_that_transform_returns(texts, params):
    tokenizer = HierarchicalTokenizer(vocabulary=["a"], **params).fit(texts)
    documents = tokenizer.transform(texts)
    spans = tokenizer.spans(texts)
    assert len(documents) == len(spans) == len(texts)
    for text, document, found in zip(texts, documents, spans, strict=True):
        assert np.bincount(found.sentence_of_word).tolist() == [len(s) for s in document]
        assert len(found.sentence_spans) == len(document)
        edges = found.sentence_spans.ravel().tolist()
        assert sorted(edges) == edges
        assert np.all(np.diff(found.sentence_spans) > 0)
        assert max(edges, default=0) <= len(text)
        edges = found.word_spans.ravel().tolist()
        assert sorted(edges) == edges
        of_sentences = found.sentence_spans[found.sentence_of_word]
        assert np.all(of_sentences[:, 0] <= found.word_spans[:, 0])
        assert np.all(found.word_spans[:, 1] <= of_sentences[:, 1])


@given(st.lists(ANY_TEXT, min_size=1, max_size=4))
def test_the_raw_text_at_a_span_is_the_word(texts):
    tokenizer = HierarchicalTokenizer(lowercase=False)
    texts = [*texts, "a"]  # or there might be no words at all
    words = tokenizer.inverse_transform(tokenizer.fit_transform(texts))
    for text, document, spans in zip(texts, words, tokenizer.spans(texts), strict=True):
        raw = [text[start:end] for start, end in spans.word_spans]
        assert raw == spans.words
        found = [word for sentence in document for word in sentence]
        assert [*map(up_to_form, raw)] == [*map(up_to_form, found)]


# Characters that Unicode calls ignorable by default (DerivedCoreProperties.txt), written down anew.
INVISIBLE = re.compile(
    "[\xad\u034f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)


def up_to_form(word):
    """Give a word in NFKC, which makes more words alike than the tokenizer does."""
    return re.sub("[’ʼ]", "'", unicodedata.normalize("NFKC", INVISIBLE.sub("", word)))


# Speed and processes


@pytest.mark.thorough
def test_two_processes_give_the_result_of_one():
    texts = [f"Film {i % 97} is fine. Don't miss number {i}!" for i in range(1_200)]
    one, two = HierarchicalTokenizer(), HierarchicalTokenizer(n_jobs=2)
    assert pickle.dumps(one.fit_transform(texts)) == pickle.dumps(two.fit_transform(texts))
    assert list(one.vocabulary_.items()) == list(two.vocabulary_.items())
    for a, b in zip(one.spans(texts), two.spans(texts), strict=True):
        assert pickle.dumps(a) == pickle.dumps(b)


@pytest.mark.thorough
def test_the_hash_seed_changes_nothing():
    program = (
        "from sk_han import HierarchicalTokenizer as T;"
        "t = T(vocabulary=None, stop_words='english').fit(['b a c. The d É', 'x y z w']);"
        "print(ascii(t.vocabulary_), T(vocabulary={'q', 'r', 's'}).fit(['a']).vocabulary_)"
    )
    command = [sys.executable, "-c", program]
    one, other = (
        subprocess.check_output(command, env={"PYTHONHASHSEED": seed}, timeout=120) for seed in "12"
    )
    assert one == other

import pickle
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from sk_han import DocumentArray, HierarchicalTokenizer
from sk_han._tokenizer import UNKNOWN_WORD

pytestmark = pytest.mark.usefixtures("engine")

TEXTS = ["A fine film. Don't miss it!", "", "Dull. A dull film.", "  \n"]


def words_of(tokenizer, texts):
    """Documents of sentences of words, as the vocabulary has them."""
    return tokenizer.inverse_transform(tokenizer.transform(texts))


def read(texts, **params):
    tokenizer = HierarchicalTokenizer(**params)
    return tokenizer.inverse_transform(tokenizer.fit_transform(texts))


# Ids and vocabulary


def test_words_that_were_not_in_the_training_texts_are_unknown():
    tokenizer = HierarchicalTokenizer().fit(["good film"])
    assert tokenizer.transform(["A good film noir."]).to_nested() == [[[1, 3, 2, 1, 1]]]


# Of each pair the second is another spelling of the first.
SPELLINGS = [
    ("Café Ångström", "Cafe\u0301 A\u030angstro\u0308m"),
    ("ȩ\u0301ế", "e\u0301\u0327e\u0302\u0301"),
    ("영화가", "\u110b\u1167\u11bc\u1112\u116a\u1100\u1161"),
    ("がプ", "か\u3099フ\u309a"),
    ("don't м'ята", "don’t мʼята"),
]


@pytest.mark.parametrize(
    "params", [{}, {"tokens": "words"}, {"tokens": "web"}, {"lowercase": False}]
)
@pytest.mark.parametrize(("text", "other"), SPELLINGS)
def test_a_word_in_another_spelling_has_the_same_id_and_offsets_of_its_own(text, other, params):
    tokenizer = HierarchicalTokenizer(**params).fit([text])
    assert tokenizer.vocabulary_ == HierarchicalTokenizer(**params).fit([other]).vocabulary_
    found = [tokenizer.locate([each]) for each in (text, other)]
    assert found[0][0].to_nested() == found[1][0].to_nested()
    for (_, (spans,)), each in zip(found, (text, other), strict=True):
        assert "".join(each[a:b] for a, b in spans.word_spans) == "".join(each.split())


def test_transform_learns_nothing():
    tokenizer = HierarchicalTokenizer().fit(TEXTS)
    before = dict(tokenizer.vocabulary_)
    tokenizer.transform(["entirely new words"])
    tokenizer.spans(["entirely new words"])
    assert tokenizer.vocabulary_ == before


def test_fit_transform_equals_fit_and_then_transform():
    for output in ("ragged", "padded"):
        tokenizer = HierarchicalTokenizer(stop_words=["a"], max_words=3, min_df=2, output=output)
        at_once = tokenizer.fit_transform(TEXTS)
        assert pickle.dumps(at_once) == pickle.dumps(tokenizer.fit(TEXTS).transform(TEXTS))


def test_fit_transform_reads_each_text_once():
    read_texts = []

    def splitter(text):
        read_texts.append(text)
        return [text]

    HierarchicalTokenizer(sentence_splitter=splitter).fit_transform(TEXTS)
    assert read_texts == TEXTS


@pytest.mark.parametrize("min_df", [1, 2, 3, 0.0, 0.3, 0.5, 1.0])
def test_min_df_keeps_the_words_that_countvectorizer_keeps(min_df):
    texts = ["aa bb cc", "aa BB aa", "aa dd DD dd"]
    kept = CountVectorizer(min_df=min_df).fit(texts).vocabulary_
    assert set(HierarchicalTokenizer(min_df=min_df).fit(texts).vocabulary_) == set(kept)


def test_min_df_that_no_word_reaches_is_refused_with_the_repair():
    with pytest.raises(ValueError, match=r"no word occurs in 2 of 2 documents\. .*lower min_df"):
        HierarchicalTokenizer(min_df=2).fit(["a", "b"])


def test_ids_fall_with_frequency_and_then_follow_the_alphabet_up_to_max_features():
    expected = {"c": 2, "b": 3, "d": 4, "a": 5, "e": 6}
    for n in (None, 2):
        tokenizer = HierarchicalTokenizer(tokens="words", max_features=n)
        found = tokenizer.fit(["b c c. a b c d", "d e"]).vocabulary_
        assert list(found.items()) == list(expected.items())[:n]
        assert {type(i) for i in found.values()} == {int}


def test_a_given_mapping_is_the_vocabulary():
    tokenizer = HierarchicalTokenizer(vocabulary={"film": 7, "fine": 2}, min_df=3).fit(TEXTS)
    assert tokenizer.vocabulary_ == {"film": 7, "fine": 2}
    assert tokenizer.transform(["A fine film"]).to_nested() == [[[1, 2, 7]]]


def test_a_wrong_vocabulary_is_refused_in_fit():
    with pytest.raises(ValueError, match="'a' the id 1; ids start at 2"):
        HierarchicalTokenizer(vocabulary={"a": 1}).fit(TEXTS)


@pytest.mark.parametrize("texts", [[""], [" \n", "---", "\u200d"], ["<br /><br>"], ["The of and"]])
def test_texts_without_words_are_an_empty_vocabulary(texts):
    message = "empty vocabulary; perhaps the documents are blank, only contain stop words"
    with pytest.raises(ValueError, match=message):
        HierarchicalTokenizer(stop_words="english").fit(texts)


def test_a_failed_fit_leaves_the_earlier_vocabulary():
    tokenizer = HierarchicalTokenizer().fit(["a b"])
    for wrong in ([""], [None], "text"):
        with pytest.raises((ValueError, TypeError)):
            tokenizer.fit(wrong)
    assert tokenizer.vocabulary_ == {"a": 2, "b": 3}


# Words


def test_case_is_ignored_unless_asked_for():
    assert read(["The the"]) == [[["the", "the"]]]
    assert read(["The the"], lowercase=False) == [[["The", "the"]]]


@pytest.mark.parametrize("returned", [None, 5, b"word"])
def test_a_strip_accents_that_returns_no_string_is_refused(returned):
    kind = type(returned).__name__
    with pytest.raises(TypeError, match=f"must return a string .* objects of type {kind}"):
        read(["Two words"], strip_accents=lambda word: returned)


@pytest.mark.parametrize(
    ("strip_accents", "expected"),
    [
        (None, [["café", "ø", "日", "İ".lower()]]),
        ("unicode", [["cafe", "ø", "日", "i"]]),
        ("ascii", [["cafe", "i"]]),
        (lambda word: word.replace("ø", "oe"), [["café", "oe", "日", "İ".lower()]]),
    ],
)
def test_accents_are_stripped_as_by_countvectorizer(strip_accents, expected):
    assert read(["Café Ø 日 İ"], strip_accents=strip_accents) == [expected]


def test_forms_that_normalise_to_one_word_are_counted_together():
    tokenizer = HierarchicalTokenizer(strip_accents="unicode").fit(["b b É e E"])
    assert tokenizer.vocabulary_ == {"e": 2, "b": 3}


def test_stop_words_are_left_out_with_sentences_they_empty():
    assert read(["The end<br>It is the<br>So?"], stop_words=["the", "IS", "it"]) == [
        [["end"], ["so", "?"]]
    ]


def test_english_stop_words_are_those_of_scikit_learn():
    assert read(["This is the end of it"], stop_words="english") == [[["end"]]]


def test_the_token_pattern_sees_the_raw_text():
    assert read(["Ab cd E"], token_pattern="[a-z]+") == [[["b", "cd"]]]


def test_tokens_says_what_a_word_is():
    text = "It cost $50! :-) #fun"
    assert read([text], tokens="words") == [[["it", "cost", "50"], ["fun"]]]
    marks = [["it", "cost", "$", "50", "!"], [":", ")", "#", "fun"]]
    assert read([text], tokens="words+marks") == [marks]
    assert read([text], tokens="web") == [[["it", "cost", "$50", "!"], [":-)", "#fun"]]]


def test_a_token_pattern_comes_before_tokens():
    assert read(["a b!"], tokens="words+marks", token_pattern="[a-z]") == [[["a", "b"]]]


def test_a_group_of_the_token_pattern_is_the_word_and_has_the_span():
    tokenizer = HierarchicalTokenizer(token_pattern=r"#(\w+)").fit(["see #one and #two"])
    assert tokenizer.vocabulary_ == {"one": 2, "two": 3}
    assert tokenizer.spans(["see #one"])[0].word_spans.tolist() == [[5, 8]]


def test_a_pattern_that_matches_nothing_gives_no_empty_words():
    assert read(["ab, c"], token_pattern="[a-z]*") == [[["ab", "c"]]]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(a)(b)", "may have one group"),
        (r"(", "not a regular expression"),
        (3, "'token_pattern'"),
    ],
)
def test_a_wrong_token_pattern_is_refused_in_fit(pattern, message):
    for vocabulary in (None, ["a"]):
        with pytest.raises(ValueError, match=message):
            HierarchicalTokenizer(token_pattern=pattern, vocabulary=vocabulary).fit(TEXTS)


# Shape of the output


def test_blank_documents_have_no_sentences():
    documents = HierarchicalTokenizer().fit_transform(TEXTS)
    assert isinstance(documents, DocumentArray)
    assert documents.sentences_per_document.tolist() == [2, 0, 2, 0]


def test_sentences_without_words_are_left_out():
    assert read(["Yes.\n\n***\n\nNo!"], tokens="words") == [[["yes"], ["no"]]]


@pytest.mark.parametrize("text", ["", "  ", "?!... --", "👍🏽", "entirely unseen", "\ud800\0"])
def test_any_document_can_be_transformed(text):
    tokenizer = HierarchicalTokenizer().fit(TEXTS)
    documents = tokenizer.transform([text])
    assert len(documents) == len(tokenizer.spans([text])) == 1
    known = {tokenizer.vocabulary_[mark] for mark in ".!"}
    assert set(documents.word_ids.tolist()) <= {1, *known}


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


def test_the_vocabulary_is_learnt_from_what_limits_keep():
    tokenizer = HierarchicalTokenizer(max_words=1).fit(["a b b. c b"])
    assert tokenizer.vocabulary_ == {"a": 2, "c": 3}


def test_limits_count_what_stop_words_leave():
    params = {"stop_words": ["the"], "max_sentences": 1, "max_words": 1}
    assert read(["The<br>The end is near. No."], **params) == [[["end"]]]


def test_padded_output_is_the_cube_of_the_ragged_one():
    ragged = HierarchicalTokenizer().fit_transform(TEXTS)
    padded = HierarchicalTokenizer(output="padded").fit_transform(TEXTS)
    assert padded.dtype == np.int32
    np.testing.assert_array_equal(padded, ragged.pad())


def test_padded_output_has_the_size_of_the_limits():
    tokenizer = HierarchicalTokenizer(output="padded", max_sentences=5, max_words=7)
    assert tokenizer.fit_transform(TEXTS).shape == (4, 5, 7)
    assert tokenizer.transform(["a"]).shape == (1, 5, 7)


def test_inverse_transform_takes_every_form_of_documents():
    tokenizer = HierarchicalTokenizer(tokens="words").fit(TEXTS)
    documents = tokenizer.transform(["A new film. Dull!"])
    for X in (documents, documents.pad(), documents.to_nested()):
        assert tokenizer.inverse_transform(X) == [[["a", UNKNOWN_WORD, "film"], ["dull"]]]
    assert tokenizer.inverse_transform([[[99]]]) == [[[UNKNOWN_WORD]]]


def test_the_unknown_word_cannot_be_a_word_of_a_text():
    assert words_of(HierarchicalTokenizer().fit(["a"]), [UNKNOWN_WORD]) == [[[UNKNOWN_WORD]]]
    assert read([UNKNOWN_WORD]) == [[["unknown"]]]


# Spans


def test_spans_of_a_document_worked_by_hand():
    text = " Yes.<br />I do!"
    (spans,) = HierarchicalTokenizer().fit([text]).spans([text])
    assert spans.sentence_spans.tolist() == [[1, 5], [11, 16]]
    assert spans.word_spans.tolist() == [[1, 4], [4, 5], [11, 12], [13, 15], [15, 16]]
    assert spans.sentence_of_word.tolist() == [0, 0, 1, 1, 1]
    assert spans.truncated is False
    assert {array.dtype for array in spans[:3]} == {np.dtype(np.int64)}


def test_spans_of_an_empty_document_have_their_shapes():
    (spans,) = HierarchicalTokenizer().fit(TEXTS).spans([""])
    assert [array.shape for array in spans[:3]] == [(0, 2), (0, 2), (0,)]


@pytest.mark.parametrize(
    ("text", "truncated"),
    [("One two<br>Six.", False), ("One two six", True), ("One<br>Two<br>Six", True), ("", False)],
)
def test_spans_tell_whether_a_limit_cut_something_off(text, truncated):
    tokenizer = HierarchicalTokenizer(max_sentences=2, max_words=2).fit(["a"])
    (spans,) = tokenizer.spans([text])
    assert spans.truncated is truncated


PIECES = st.lists(
    st.sampled_from(
        [". ", "! ", "…", "。", "।", " ", "\n\n", "<br />", "<", '"', "Mr", "a", "The", "1", "\0"]
        + ["Don't", "好", "ที่", "É", "e\u0301", "İ", "ß", "हि", "ש\u05b0", "👨\u200d👩", "\ud800"]
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
def test_spans_are_those_of_the_words_that_transform_gives(texts, params):
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
        one_form = [re.sub("[’ʼ]", "'", unicodedata.normalize("NFC", word)) for word in raw]
        assert one_form == [word for sentence in document for word in sentence]


# Callables


def test_a_sentence_splitter_says_where_sentences_end():
    params = {"sentence_splitter": lambda text: text.split(";")}
    assert read(["One. Two; three"], **params) == [[["one", ".", "two"], ["three"]]]


def test_a_word_tokenizer_says_what_words_are():
    def letters(sentence):
        return re.findall("[a-z]+", sentence.lower())

    text = "It's 3 p.m. Now!"
    tokenizer = HierarchicalTokenizer(word_tokenizer=letters).fit([text])
    assert words_of(tokenizer, [text]) == [[["it", "s", "p", "m"], ["now"]]]
    raw = [text[start:end] for start, end in tokenizer.spans([text])[0].word_spans]
    assert raw == ["It", "s", "p", "m", "Now"]


def test_lemmas_are_words_without_a_place():
    lemmas = {"He": "he", "was": "be", "going": "go", ".": "."}

    def lemmatize(sentence):
        return [lemmas[token] for token in re.findall(r"\w+|\.", sentence)]

    text = "He was going."
    tokenizer = HierarchicalTokenizer(word_tokenizer=lemmatize).fit([text])
    assert words_of(tokenizer, [text]) == [[["he", "be", "go", "."]]]
    assert tokenizer.spans([text])[0].word_spans.tolist() == 4 * [[0, 0]]


def test_words_of_a_tokenizer_are_normalised_like_others():
    params = {"word_tokenizer": str.split, "stop_words": ["the"], "strip_accents": "unicode"}
    assert read(["The Café"], **params) == [[["cafe"]]]


@pytest.mark.parametrize("parameter", ["sentence_splitter", "word_tokenizer", "strip_accents"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_errors_of_callables_come_through_and_leave_the_earlier_state(parameter, error):
    def fail(_):
        raise error

    tokenizer = HierarchicalTokenizer().fit(["a"])
    with pytest.raises(error):
        tokenizer.set_params(**{parameter: fail}).fit(["b"])
    assert tokenizer.vocabulary_ == {"a": 2}


# Containers


@pytest.mark.parametrize("method", ["fit", "fit_transform", "transform", "spans"])
@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ("text", ValueError, "string object received"),
        ([], ValueError, "0 sample"),
        (["a", None], TypeError, "Document 1 is missing"),
        (["a", 3], TypeError, "Document 1 is an int"),
        ([b"\xff"], UnicodeDecodeError, "document 0"),
    ],
)
def test_faulty_documents_are_refused_by_every_method(method, X, error, message):
    with pytest.raises(error, match=message):
        getattr(HierarchicalTokenizer().fit(TEXTS), method)(X)


# A citizen of scikit-learn


@pytest.mark.parametrize("method", ["transform", "spans", "inverse_transform"])
def test_an_unfitted_tokenizer_says_so(method):
    with pytest.raises(NotFittedError):
        getattr(HierarchicalTokenizer(vocabulary=["a"]), method)("anything")


def test_clone_and_pickle_keep_parameters_and_state():
    tokenizer = HierarchicalTokenizer(max_words=3, stop_words=["a"]).fit(TEXTS)
    assert clone(tokenizer).get_params() == tokenizer.get_params()
    again = pickle.loads(pickle.dumps(tokenizer))
    assert again.vocabulary_ == tokenizer.vocabulary_
    assert words_of(again, TEXTS) == words_of(tokenizer, TEXTS)


def test_tags_say_that_it_takes_strings():
    tags = get_tags(HierarchicalTokenizer())
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    assert tags.requires_fit
    assert not tags.target_tags.required


def lengths(documents):
    return np.stack([documents.sentences_per_document, documents.words_per_document], axis=1)


def test_it_works_in_a_pipeline_under_grid_search():
    texts = ["Good. Very good film."] * 8 + ["A bad film"] * 8
    labels = ["good"] * 8 + ["bad"] * 8
    tree = DecisionTreeClassifier(random_state=0)
    pipeline = make_pipeline(HierarchicalTokenizer(), FunctionTransformer(lengths), tree)
    search = GridSearchCV(pipeline, {"hierarchicaltokenizer__max_sentences": [1, None]}, cv=2)
    assert search.fit(pd.Series(texts, index=range(5, 21)), labels).best_score_ == 1.0


# Speed and processes


@pytest.mark.thorough
def test_two_processes_give_what_one_gives():
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


# Texts of an iterator


STREAMED = [f"{word} and the {word}. It was {other}!" for word in "abc" for other in "defgh"]


def arrays(documents: DocumentArray) -> list[list[int]]:
    names = ("word_ids", "sentence_starts", "document_starts")
    return [getattr(documents, name).tolist() for name in names]


@pytest.fixture
def chunks_of_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sk_han._validation.documents._PORTION_SIZE", 4)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"min_df": 3, "stop_words": "english"},
        {"min_df": 0.3, "max_features": 5},
        {"max_words": 2, "lowercase": False},
        {"vocabulary": ["the", "b"]},
    ],
    ids=str,
)
def test_texts_that_are_read_in_chunks_give_what_a_list_gives(
    chunks_of_four: None, params: dict[str, Any]
) -> None:
    tokenizer = HierarchicalTokenizer(**params)
    expected = arrays(tokenizer.fit_transform(STREAMED))
    vocabulary = list(tokenizer.vocabulary_.items())
    assert list(clone(tokenizer).fit(iter(STREAMED)).vocabulary_.items()) == vocabulary
    assert arrays(clone(tokenizer).fit_transform(iter(STREAMED))) == expected
    assert arrays(tokenizer.transform(iter(STREAMED))) == expected


def test_further_texts_are_counted_in_chunks_too(chunks_of_four: None) -> None:
    tokenizer = HierarchicalTokenizer()
    X, further = STREAMED[:7], STREAMED[7:]
    expected = arrays(tokenizer.fit_transform(X, X_unlabelled=further))
    other = HierarchicalTokenizer()
    found = other.fit_transform(iter(X), X_unlabelled=iter(further))
    assert arrays(found) == expected
    assert other.vocabulary_ == tokenizer.vocabulary_
    both = HierarchicalTokenizer().fit_transform_both(iter(X), X_unlabelled=iter(further))
    assert [arrays(part) for part in both] == [expected, arrays(tokenizer.transform(further))]


def test_no_more_than_a_chunk_of_texts_is_held(chunks_of_four: None) -> None:
    held: set[int] = set()
    most = 0

    class Text(str):
        def __del__(self) -> None:
            held.discard(id(self))

    def texts() -> Iterator[str]:
        nonlocal most
        for text in STREAMED:
            made = Text(text)
            held.add(id(made))
            most = max(most, len(held))
            yield made

    tokenizer = HierarchicalTokenizer().fit(texts())
    tokenizer.transform(texts())
    HierarchicalTokenizer().fit_transform(texts())
    assert 4 <= most <= 9  # a chunk, and the next one


def test_long_texts_make_chunks_of_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sk_han._validation.documents._MAX_CHARACTERS", 10)
    n_kept = []

    def word_tokenizer(text: str) -> list[str]:
        n_kept.append(len(handed))
        return [text]

    handed: list[str] = []

    def texts() -> Iterator[str | bytes]:
        for text in ["a" * 4, b"b" * 4, "c" * 4, "d" * 99, "e"]:
            handed.append(str(text))
            yield text

    HierarchicalTokenizer(word_tokenizer=word_tokenizer).fit(texts())
    assert n_kept == [3, 3, 3, 4, 5]


def test_a_vocabulary_stays_where_texts_cannot_be_read() -> None:
    tokenizer = HierarchicalTokenizer().fit(STREAMED)
    before = tokenizer.vocabulary_
    for vocabulary in (None, ["other", "words"]):
        with pytest.raises(TypeError, match="Document 1 is an int"):
            tokenizer.set_params(vocabulary=vocabulary).fit_transform(iter(["a", 1]))
        assert tokenizer.vocabulary_ == before


def test_an_iterator_that_was_read_before_is_refused_with_the_repair() -> None:
    texts = iter(STREAMED)
    tokenizer = HierarchicalTokenizer().fit(texts)
    with pytest.raises(ValueError, match=r"X has no documents.*make it anew for each call"):
        tokenizer.transform(texts)

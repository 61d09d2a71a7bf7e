"""Sentences and words of the user's own callables, and their places in the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_han import HierarchicalTokenizer
from tests.growth import LIMIT, growth
from tests.thorough import first_fast


def tokenizer_of(**callables):
    return HierarchicalTokenizer(token_pattern=r"\S+", vocabulary=["a"], **callables).fit(["a"])


def locate_sentences(text, sentences):
    spans = tokenizer_of(sentence_splitter=lambda _: sentences).spans([text])[0]
    return [tuple(span) for span in spans.sentence_spans.tolist()]


def locate_words(text, words):
    """Find words of a text of one sentence."""
    callables = {"sentence_splitter": lambda text: [text], "word_tokenizer": lambda _: words}
    spans = tokenizer_of(**callables).spans([text])[0]
    return [tuple(span) for span in spans.word_spans.tolist()]


def located(text, words):
    return [text[start:end] for start, end in locate_words(text, words)]


def test_sentences_are_found_where_they_stand():
    text = " One. Two!  One. "
    assert locate_sentences(text, ["One.", "Two! ", " One."]) == [(1, 5), (6, 10), (12, 16)]


def test_sentences_may_differ_in_white_space():
    text = "One\n two. Three\u00a0 four."
    spans = locate_sentences(text, ["One two.", "Three four."])
    assert [text[start:end] for start, end in spans] == ["One\n two.", "Three\u00a0 four."]


def test_text_may_be_left_out_between_sentences():
    text = "# Title\nOne. [1] Two."
    spans = locate_sentences(text, ["One.", "", "Two."])
    assert [text[start:end] for start, end in spans] == ["One.", "Two."]


def test_a_sentence_with_other_space_is_not_taken_for_a_later_one():
    text = "Oh  no. Oh no."
    assert locate_sentences(text, ["Oh no.", "Oh no."]) == [(0, 7), (8, 14)]


@pytest.mark.parametrize("sentences", [["one."], ["Two.", "One."], ["One.", "One."], ["x" * 99]])
def test_a_sentence_that_is_not_in_the_text_is_refused(sentences):
    with pytest.raises(ValueError, match="not in the document"):
        locate_sentences("One. Two.", sentences)


@given(st.text(max_size=60), st.data())
def test_any_cuts_of_a_text_are_found(text, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    spans = locate_sentences(text, [" ".join(piece.split()) for piece in pieces])
    assert [text[a:b].split() for a, b in spans] == [p.split() for p in pieces if p.strip()]


def test_words_are_found_where_they_stand():
    assert locate_words("I am, I was.", ["I", "was"]) == [(0, 1), (8, 11)]


def test_words_are_found_in_their_own_sentence():
    tokenizer = tokenizer_of(word_tokenizer=lambda _: ["I", "was"])
    spans = tokenizer.spans(["I am, I was. As was I, I was."])[0].word_spans.tolist()
    assert spans == [[0, 1], [8, 11], [20, 21], [25, 28]]


def test_words_in_other_case_are_found():
    assert located("The End", ["the", "end"]) == ["The", "End"]


def test_parts_of_words_are_found_behind_each_other():
    assert located("I don't.", ["I", "do", "n't", "."]) == ["I", "do", "n't", "."]


def test_words_are_not_found_inside_of_others():
    assert locate_words("thinking in", ["in"]) == [(9, 11)]


def test_lemmas_take_the_words_of_the_text_in_turn():
    text = "It was better to be there."
    assert located(text, ["it", "be", "good", "to", "be", "there"]) == text.rstrip(".").split()


def test_lemmas_with_punctuation_take_the_words_in_turn():
    lemmas = ["he", "be", "go", ",", "she", "stay", "."]
    assert located("He was gone, she stayed.", lemmas) == [
        *["He", "was", "gone", "", "she", "stayed", ""]
    ]


def test_stems_take_the_beginning_of_their_word():
    assert located("The oldest ran", ["old", "ran"]) == ["old", "ran"]


def test_lemmas_find_their_words_though_others_were_left_out():
    text = "The better children were running very quickly home"
    assert located(text, ["good", "child", "run", "home"]) == ["The", "children", "running", "home"]


def test_words_without_a_place_get_an_empty_span_behind_the_last():
    assert locate_words("One two", ["one", "two", "three", "x"]) == [
        (0, 3),
        (4, 7),
        (7, 7),
        (7, 7),
    ]


WORDY = st.lists(
    st.sampled_from(["be", "was", "Being", "the", "do", "n't", "don't", ".", "好", "İ", "x" * 9]),
    max_size=20,
)


@given(st.one_of(st.text(max_size=60), WORDY.map(" ".join)), WORDY)
def test_words_stand_in_order_inside_their_sentence(text, words):
    spans = locate_words(text, words)
    assert len(spans) == (len(words) if text.strip() else 0)
    last = len(text) - len(text.lstrip())
    for begin, end in spans:
        assert last <= begin <= end <= len(text.rstrip())
        last = end


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("piece", "word"),
    first_fast([("ab ", "ab"), ("ab ", "zz"), ("ba", "a"), ("ab ", "abc"), ("a. ", "b")]),
)
def test_ten_times_the_words_take_at_most_fifteen_times_the_time(piece, word):
    def locate(n):
        text, words = piece * n, [*[word] * n, "zz"]
        locate_words(text, words)

    assert growth(locate) <= LIMIT


@pytest.mark.thorough
def test_locating_many_changed_sentences_takes_linear_time():
    def locate(n):
        text, sentences = "Oh  no. " * n, ["Oh no."] * n
        locate_sentences(text, sentences)

    assert growth(locate) <= LIMIT


def test_a_word_tokenizer_gets_trimmed_sentences_and_says_what_words_are():
    seen = []

    def tokenize(sentence):
        seen.append(sentence)
        return sentence.lower().split()

    tokenizer = HierarchicalTokenizer(word_tokenizer=tokenize)
    documents = tokenizer.fit_transform([" One. \n Two, too "])
    assert tokenizer.inverse_transform(documents) == [[["one."], ["two,", "too"]]]
    assert seen == ["One.", "Two, too"]


@pytest.mark.parametrize("parameter", ["sentence_splitter", "word_tokenizer"])
@pytest.mark.parametrize(
    ("returned", "got"),
    [
        ("text", "a str"),
        ([1, None], "NoneType, int"),
        (None, "a NoneType"),
        ({"a", "b"}, "a set"),
    ],
)
def test_a_callable_that_returns_no_strings_is_refused(parameter, returned, got):
    with pytest.raises(TypeError, match=f"{parameter} must return a list of strings.*{got}"):
        HierarchicalTokenizer(**{parameter: lambda _: returned}).fit(["text"])


def test_a_splitter_that_invents_text_is_refused():
    with pytest.raises(ValueError, match="sentence_splitter returned 'invented'"):
        HierarchicalTokenizer(sentence_splitter=lambda _: ["invented"]).fit(["text"])

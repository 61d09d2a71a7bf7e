"""Sentences and words of the user's own callables, and their places in the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_han import HierarchicalTokenizer
from tests.growth import LIMIT, growth
from tests.thorough import first_fast


def tokenizer_of(**callables):
    return HierarchicalTokenizer(token_pattern=r"\S+", vocabulary=["a"], **callables).fit(["a"])


def locate_words(text, words):
    """Find words of a text of one sentence."""
    callables = {"sentence_splitter": lambda text: [text], "word_tokenizer": lambda _: words}
    spans = tokenizer_of(**callables).spans([text])[0]
    return [tuple(span) for span in spans.word_spans.tolist()]


def located(text, words):
    return [text[start:end] for start, end in locate_words(text, words)]


# Sentences of a text as splitters return them, and where in the text they begin and end.
SENTENCES = {
    "blanks around": (" One. Two!  One. ", ["One.", "Two! ", " One."], [1, 5, 6, 10, 12, 16]),
    "other space": ("One\n two. Three\u00a0 four.", ["One two.", "Three four."], [0, 9, 10, 22]),
    "text left out": ("# Title\nOne. [1] Two.", ["One.", "", "Two."], [8, 12, 17, 21]),
    "not the later one": ("Oh  no. Oh no.", ["Oh no.", "Oh no."], [0, 7, 8, 14]),
}


def locate_sentences(text, sentences):
    spans = tokenizer_of(sentence_splitter=lambda _: sentences).spans([text])[0]
    return [tuple(span) for span in spans.sentence_spans.tolist()]


@pytest.mark.parametrize(("text", "sentences", "edges"), SENTENCES.values(), ids=SENTENCES)
def test_sentences_are_located_in_the_text(text, sentences, edges):
    assert [edge for span in locate_sentences(text, sentences) for edge in span] == edges


@pytest.mark.parametrize("sentences", [["one."], ["Two.", "One."], ["One.", "One."], ["x" * 99]])
def test_a_sentence_that_is_not_in_the_text_is_refused(sentences):
    with pytest.raises(ValueError, match=r"sentence_splitter returned .*not in the document"):
        locate_sentences("One. Two.", sentences)


@given(st.text(max_size=60), st.data())
def test_arbitrary_pieces_of_a_text_are_located(text, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    spans = locate_sentences(text, [" ".join(piece.split()) for piece in pieces])
    assert [text[a:b].split() for a, b in spans] == [p.split() for p in pieces if p.strip()]


# Words of a text as tokenizers return them, and what of the text is theirs.
RETURNED = {
    "other case": ("The End", ["the", "end"], ["The", "End"]),
    "parts of words": ("I don't.", ["I", "do", "n't", "."], ["I", "do", "n't", "."]),
    "Chinese, words left out": ("我喜欢", ["喜欢"], ["喜欢"]),
    "Lao": ("ພາສາລາວ", ["ພາສາ", "ລາວ"], ["ພາສາ", "ລາວ"]),
    "quotes of NLTK": ('a "b" !', ["a", "``", "b", "''", "!"], ["a", "", "b", "", "!"]),
    "a word that begins one left out": ("also a dog", ["a", "dog"], ["a", "dog"]),
    "WordPiece": (
        "unbelievable, able", ["un", "##believ", "##able", "able"], ["un", "believ", "able", "able"]
    ),
    "SentencePiece": ("We playing", ["▁We", "▁play", "ing"], ["We", "play", "ing"]),
}  # fmt: skip
# One that has no place may be another that has, as the lemma "be" of "was".
CHANGED = {
    "Japanese lemmas": ("食べた。猫が好き", ["食べる", "た", "猫"]),
    "lemmas": ("It was better to be there.", ["it", "be", "good", "to", "be", "there"]),
    "stems": ("The oldest ran running", ["old", "run"]),
    "overlapping pairs": ("new york city", ["new york", "york city"]),
    "search mode": ("国务院办公厅的", ["国务", "办公", "国务院", "国务院办公厅", "的"]),
}


@pytest.mark.parametrize(("text", "words", "expected"), RETURNED.values(), ids=RETURNED)
def test_words_are_located_in_the_text(text, words, expected):
    assert located(text, words) == expected


@pytest.mark.parametrize(("text", "words"), CHANGED.values(), ids=CHANGED)
def test_a_changed_word_leaves_its_sentence_without_spans(text, words):
    assert located(text, words) == len(words) * [""]


@given(
    st.lists(
        st.sampled_from(["a", "ab", "b", "ba", "abc", "c", "d’e", "好", "好的", "的", "é"]),
        max_size=40,
    ),
    st.data(),
)
def test_every_word_that_was_kept_gets_a_place(words, data):
    changes = st.lists(
        st.sampled_from(["keep", "keep", "drop", "``"]), min_size=len(words), max_size=len(words)
    )
    kept = [
        (word if change == "keep" else change)
        for word, change in zip(words, data.draw(changes), strict=True)
        if change != "drop"
    ]
    found = located(" ".join(words), kept) if words else []
    assert found == [word.replace("``", "") for word in kept]


def test_marks_that_are_not_found_get_empty_spans():
    assert locate_words("One two", ["one", "two", "''", "``"]) == [
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
def test_spans_hold_their_words_and_do_not_overlap(text, words):
    spans = locate_words(text, words)
    assert len(spans) == (len(words) if text.strip() else 0)
    for word, (begin, end) in zip(words, spans, strict=False):
        assert len(text) - len(text.lstrip()) <= begin <= end <= len(text.rstrip())
        assert begin == end or text[begin:end].lower() == word.lower()
    places = [span for span in spans if span[0] < span[1]]
    assert len(set(places)) == len(places)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("piece", "word"),
    first_fast(
        [
            ("ab ", "ab"),
            ("ab ", "zz"),
            ("ab ", "abc"),
            ("a", "a"),
            ("好的", "的"),
            ("a", "a" * 20),
            ("e\u0301\u0316", "e"),
        ]
    ),
)
def test_time_is_nearly_linear_in_the_words(piece, word):
    def locate(n):
        text, words = piece * n, ["zz", *[word] * n, "zz"]
        locate_words(text, words)

    assert growth(locate) <= LIMIT


@pytest.mark.thorough
def test_locating_many_changed_sentences_takes_linear_time():
    def locate(n):
        text, sentences = "Oh  no. " * n, ["Oh no."] * n
        locate_sentences(text, sentences)

    assert growth(locate) <= LIMIT


def test_a_word_tokenizer_gets_trimmed_sentences():
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

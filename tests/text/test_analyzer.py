import pytest

from sk_han.text.analyzer import TextAnalyzer


def both(text, **params):
    """Read a text, and see that it is read alike with offsets."""
    analyzer = TextAnalyzer(**{"token_pattern": r"\w+", **params})
    words = analyzer.analyze(text)
    assert [sentence.words for sentence in analyzer.locate(text)] == words
    return words


def spans(text, **params):
    analyzer = TextAnalyzer(**{"token_pattern": r"\w+", **params})
    return [span for sentence in analyzer.locate(text) for span in sentence.word_spans]


def test_words_are_what_the_pattern_finds_as_written():
    assert both("The end. So?") == [["The", "end"], ["So"]]


def test_sentences_without_words_are_left_out():
    assert both("Yes.\n\n***\n\nNo!") == [["Yes"], ["No"]]


def test_offsets_of_sentences_and_words_worked_by_hand():
    first, second = TextAnalyzer(r"\w+").locate(" Yes.<br />I do!")
    assert first == ((1, 5), ["Yes"], [(1, 4)])
    assert second == ((11, 16), ["I", "do"], [(11, 12), (13, 15)])


def test_a_group_of_the_token_pattern_is_the_word_and_has_the_span():
    assert both("see #one and #two", token_pattern=r"#(\w+)") == [["one", "two"]]
    assert spans("see #one", token_pattern=r"#(\w+)") == [(5, 8)]


def test_a_sentence_splitter_says_where_sentences_end():
    found = both("One. Two; three", sentence_splitter=lambda text: text.split(";"))
    assert found == [["One", "Two"], ["three"]]


def test_a_word_tokenizer_gets_trimmed_sentences_and_says_what_words_are():
    seen = []

    def tokenize(sentence):
        seen.append(sentence)
        return sentence.lower().split()

    assert TextAnalyzer("unused", word_tokenizer=tokenize).analyze(" One. \n Two, too ") == [
        ["one."],
        ["two,", "too"],
    ]
    assert seen == ["One.", "Two, too"]


def test_lemmas_have_the_spans_of_their_text():
    lemmas = {"He": "he", "was": "be", "going.": "go"}
    params = {"word_tokenizer": lambda sentence: [lemmas[word] for word in sentence.split()]}
    assert both("He was going.", **params) == [["he", "be", "go"]]
    assert [("He was going."[a:b]) for a, b in spans("He was going.", **params)][:2] == [
        "He",
        "was",
    ]


@pytest.mark.parametrize("parameter", ["sentence_splitter", "word_tokenizer"])
@pytest.mark.parametrize(
    ("returned", "got"), [("text", "a str"), ([1, None], "NoneType, int"), (None, "a NoneType")]
)
def test_a_callable_that_returns_no_strings_is_refused(parameter, returned, got):
    with pytest.raises(TypeError, match=f"{parameter} must return a list of strings.*{got}"):
        both("text", **{parameter: lambda _: returned})


def test_a_splitter_that_invents_text_is_refused():
    with pytest.raises(ValueError, match="sentence_splitter returned 'invented'"):
        both("text", sentence_splitter=lambda _: ["invented"])

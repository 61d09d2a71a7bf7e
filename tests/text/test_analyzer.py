import pytest

from sk_han.text.analyzer import TextAnalyzer


def test_a_word_tokenizer_gets_trimmed_sentences_and_says_what_words_are():
    seen = []

    def tokenize(sentence):
        seen.append(sentence)
        return sentence.lower().split()

    analyzer = TextAnalyzer("unused", word_tokenizer=tokenize)
    assert analyzer.analyze(" One. \n Two, too ") == [["one."], ["two,", "too"]]
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
        TextAnalyzer("unused", **{parameter: lambda _: returned}).analyze("text")


def test_a_splitter_that_invents_text_is_refused():
    with pytest.raises(ValueError, match="sentence_splitter returned 'invented'"):
        TextAnalyzer("unused", sentence_splitter=lambda _: ["invented"]).analyze("text")

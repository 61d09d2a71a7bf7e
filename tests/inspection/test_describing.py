"""What `describe` finds in texts before a fit."""

import json

import pytest

from sk_han import DocumentArray, HierarchicalTokenizer, describe
from sk_han.inspection import TextDescription
from sk_han.inspection.fit_cost import of_classes
from tests.html_page import Page

TEXTS = [
    "One two three. Four five!",
    "",
    "One two three. Four five!",
    "Шесть семь восемь. 好",
    "one TWO three four five... ~~",
    "... ?",
    "One two three.\nFour five!",
]
LABELS = ["a", "b", "a", "b", "b", "a", "b"]
OF_TWO_SCRIPTS = ["One two.", "One three.", "Шесть семь."]


@pytest.fixture(scope="module")
def found():
    return describe(TEXTS, LABELS)


def test_words_and_sentences_are_those_of_the_tokenizer(found):
    documents = HierarchicalTokenizer().fit_transform(TEXTS)
    assert found.n_documents == len(documents) == 7
    assert (found.n_words, found.n_sentences) == (documents.n_words, documents.n_sentences)
    longest = found.lengths["words a document"]["longest"]
    assert longest == documents.words_per_document.max()
    assert found.lengths["sentences a document"]["shortest"] == 0
    assert list(found.lengths) == ["words a document", "sentences a document", "words a sentence"]


def test_scripts_are_shares_of_words_with_letters(found):
    assert found.scripts == pytest.approx({"Latin": 20 / 24, "Cyrillic": 3 / 24, "Han": 1 / 24})


def test_letters_of_another_width_are_of_their_script():
    assert describe(["ﾃｽﾄ."]).scripts == {"Katakana": 1}
    assert describe(["Ａｂｃ."]).scripts == {"Latin": 1}


def test_texts_without_words_are_named():
    assert describe(["", " \n", "word"]).without_words == [0, 1]


def test_repeated_texts_and_conflicting_labels_are_named(found):
    assert found.repeated == [2, 6]
    assert found.conflicting == [0, 2, 6]


def test_texts_without_labels_have_no_classes_and_no_conflicts():
    found = describe(TEXTS)
    assert (found.class_counts, found.conflicting) == (None, [])
    assert "label" not in str(found)


def test_classes_are_counted_in_their_order(found):
    assert found.class_counts == {"a": 3, "b": 4}
    assert list(describe(TEXTS, [3, 1, 3, 2, 2, 1, 1]).class_counts) == [1, 2, 3]


def test_characters_outside_of_words_are_dropped(found):
    assert found.dropped_characters == {"~": 2}
    n_characters = sum(len("".join(text.split())) for text in TEXTS)
    assert found.dropped_share == pytest.approx(2 / n_characters)


def test_dropped_characters_of_many_texts_are_those_of_a_thousand_of_them():
    assert "dropped characters  50 % in 1,000 of the texts: § 1,000\n" in str(
        describe(["a §"] * 1001)
    )
    assert "dropped characters  50 %: § 1,000\n" in str(describe(["a §"] * 1000))


def test_words_without_letters_are_of_no_script():
    assert "\nscripts             none\n" in str(describe(["\N{GRINNING FACE} 12"]))


def test_dropped_characters_that_are_not_seen_are_numbered():
    assert ": - 2, U+FE0F 1\n" in str(describe(["Fine - \u2764\ufe0f", "Bad -"]))


def test_what_limits_of_the_tokenizer_cut_is_named():
    tokenizer = HierarchicalTokenizer(max_words=3, min_df=2)
    found = describe(TEXTS, tokenizer=tokenizer)
    assert 4 in found.truncated
    assert 1 not in found.truncated
    assert 0 < found.unknown_share < 1
    assert not hasattr(tokenizer, "vocabulary_")


def test_what_lies_between_two_numbers_of_few_has_a_decimal():
    text = str(describe(["One two.", "One two three four five six seven eight nine."]))
    words = next(line for line in text.splitlines() if line.startswith("words"))
    assert words.split()[-5:] == ["3.7", "6.5", "6.5", "9.3", "10"]


def test_numbers_of_known_words_alone_say_so():
    assert "3 documents, 9 words, 6 of them different" in str(describe(OF_TWO_SCRIPTS))
    text = str(describe(OF_TWO_SCRIPTS, tokenizer=HierarchicalTokenizer(min_df=2)))
    assert "3 documents, 9 words, 2 different ones known" in text
    assert "scripts of known words  Latin 100" in text


def test_samples_are_sentences_of_words_of_the_text(found):
    assert found.samples[0] == [["One", "two", "three", "."], ["Four", "five", "!"]]


def test_more_words_are_estimated_to_take_longer():
    few, many = (describe([f"{TEXTS[0]} {n}" for n in range(size)]).cost for size in (20, 400))
    assert 0 < few.seconds < many.seconds
    assert 0 < few.megabytes < many.megabytes


def test_more_than_two_classes_are_estimated_to_take_longer():
    texts = [f"{TEXTS[0]} {n % 40}" for n in range(120)]
    of_none, of_two, of_three, of_forty = (
        describe(texts, labels).cost
        for labels in (None, *([n % n_classes for n in range(120)] for n_classes in (2, 3, 40)))
    )
    assert of_none == of_two
    assert of_two.seconds < of_three.seconds < of_forty.seconds
    assert of_two.megabytes < of_three.megabytes < of_forty.megabytes


def test_the_linear_models_of_three_classes_are_reckoned_by_ngrams_and_fits():
    documents = DocumentArray.from_nested([[[2, 3]]] * 6 + [[[4]]])
    ngrams, megabytes = of_classes(documents, 3)
    # The two words and their pair stand in six documents; one word stands in a single one. Of
    # three classes, two are beyond the first. A fit to all and five to four fifths are five.
    assert ngrams == 5 * 2 * 3 * 6
    assert megabytes == 3 * (24 * 3 + 44 * 7) / 1e6  # more than 3 * (66 * 3 + 8 * 7)


def test_a_description_is_plain_data(found):
    assert isinstance(found, TextDescription)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["class_counts"] == [["a", 3], ["b", 4]]
    assert plain["cost"]["epochs"] == found.cost.epochs


def test_it_is_shown_as_text(found):
    text = str(found)
    assert text.splitlines()[0].startswith("7 documents, ")
    assert "same text, other label  3: rows 0, 2, 6" in text
    assert "  One | two | three | ." in text
    assert repr(found) == "TextDescription(7 documents, 2 classes)"


@pytest.mark.parametrize("limit", [{"max_words": 2, "max_sentences": 1}, {"min_df": 2}])
def test_texts_that_differ_beyond_the_limits_are_not_said_to_be_the_same(limit):
    texts = ["One two three.", "One two four."]
    text = str(describe(texts, ["a", "b"], HierarchicalTokenizer(**limit)))
    assert "read alike               1: row 1" in text
    assert "read alike, other label  2: rows 0, 1" in text
    assert "same text" not in text
    assert "read alike" not in str(describe(texts, ["a", "b"]))


def test_its_page_escapes_the_texts():
    found = describe(["<script>alert(1)</script> word", "other"], ["<b>", "c"])
    html = found.to_html()
    Page(html)
    assert "<script>" not in html
    assert "&lt;b&gt;" in html
    assert "<!DOCTYPE" not in found._repr_html_()


def test_many_classes_are_summed_up():
    texts = [f"word {n}" for n in range(30)]
    shown = str(describe(texts, [f"c{n % 12:02}" for n in range(30)]))
    assert "12, from 'c11' with 2 to 'c00' with 3 documents" in shown


def test_classes_with_commas_are_told_apart():
    shown = str(describe(["One.", "Two.", "Three."], ["a, b", "a", "a"]))
    assert "'a' 2 (67 %), 'a, b' 1 (33 %)" in shown


def test_control_characters_stay_out_of_the_terminal():
    assert "\x1b" not in str(describe(["word \x1b[31m \x1b"], ["\x1b"]))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("one text",), ValueError, "string object received"),
        ((["a", "b"], ["x"]), ValueError, "2 documents in X, 1 label in labels"),
        ((["a"], ["x"], "words"), TypeError, "must be a HierarchicalTokenizer; got a str"),
        (([" ", ""],), ValueError, "empty vocabulary"),
        (
            ([" ", ""], None, HierarchicalTokenizer(vocabulary={"a": 2})),
            ValueError,
            "Of 2 documents none has a word",
        ),
        ((HierarchicalTokenizer(), TEXTS), TypeError, "no estimator.*HierarchicalTokenizer"),
    ],
)
def test_what_a_fit_refuses_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        describe(*arguments)


def test_a_word_without_end_is_shown_by_its_beginning():
    assert len(describe(["a" * 100_000]).to_text()) < 2000

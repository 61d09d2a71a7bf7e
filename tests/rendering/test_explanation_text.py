import dataclasses
import re

import numpy as np
import pytest

from sk_han import ExplanationList
from tests.by_hand import explained, signed

NO_WORDS = "No words of this document were read."


def plain(explanation, **options):
    return explanation.to_text(**{"width": 80} | options)


def test_a_document_reads_as_probabilities_sentences_and_a_legend():
    assert plain(explained("Bad start. I loved it!")).splitlines() == [
        "predicted pos (pos 0.900, neg 0.100)",
        "0.333 ███    Bad start.",
        "0.667 ██████ I loved it!",
        "Strongest words: Bad 0.111, start 0.222, I 0.111, loved 0.222, it 0.333",
        "The number before a sentence is its attention, a weight of the model's pooling.",
        "Attention is not a reason: it speaks neither for a class nor against one.",
    ]


def test_the_probability_of_the_explained_class_is_shown():
    classes, probabilities = list("abcdef"), [0.3, 0.25, 0.2, 0.15, 0.07, 0.03]
    others = {"classes": classes, "probabilities": probabilities, "predicted": "a", "target": "f"}
    head, *_ = plain(explained("Bad start.", **others)).splitlines()
    assert head == "predicted a (a 0.300, b 0.250, c 0.200, f 0.030), explained f"


def test_the_strongest_words_stand_in_a_line_with_their_values():
    text = plain(signed("a b c.", target="neg", contributions=[0.1, -0.5, 0.4]))
    assert "+1.000 ██████ a b c." in text
    assert "Strongest words: b -0.500, c +0.400\n" in text
    text = " ".join(text.split())
    assert "Plus speaks for neg, minus against it. The number before a sentence is the sum" in text


def test_marks_in_a_text_are_those_of_the_text():
    assert "+1.000 ██████ **, a *b*." in plain(signed("**, a *b*.", contributions=[0.1, -0.5]))


def of_table(**changes):
    """Explanation of a document with two columns, whose log-odds are log(0.9 / 0.1)."""
    fields = {
        "method": "shapley",
        "base_value": -0.5,
        "sentence_contributions": [1.0, np.log(9) - 4.5],
        "column_names": ("price", "shop"),
        "column_values": ("14.5", "Oslo"),
        "column_contributions": [-1.0, 5.0],
    }
    return signed("a b. c d.", **fields | changes)


def test_columns_and_sentences_have_one_scale_and_add_up():
    lines = plain(of_table()).splitlines()
    assert lines[1:6] == [
        "+1.000 █▎     a b.",
        "-2.303 ██▊    c d.",
        "+5.000 ██████ shop = Oslo",
        "-1.000 █▎     price = 14.5",
        "-0.500 for an empty document, -1.803 with all sentences, +2.197 with the columns",
    ]
    assert "all sentences and all columns add up to the log-odds" in " ".join(
        " ".join(lines).split()
    )


def test_without_columns_the_sentences_add_up():
    alone = {"column_names": (), "column_values": (), "column_contributions": []}
    text = plain(of_table(sentence_contributions=[1.0, np.log(9) - 0.5], **alone))
    assert "-0.500 for an empty document, +2.197 with all sentences\n" in text
    assert "An empty document and all sentences add up" in " ".join(text.split())


def test_a_value_within_two_standard_errors_of_0_has_no_bar_and_no_decimals():
    unclear = signed(
        "a b. c d.",
        method="shapley",
        sentence_contributions=[0.9, -1.4],
        sentence_errors=[0.45, 0.75],
    )
    text = plain(unclear)
    assert "+0.900 \N{FULL BLOCK}" in text  # just two standard errors
    assert "\N{ALMOST EQUAL TO}-1           c d." in text
    said = "Numbers with \N{ALMOST EQUAL TO} are unclear: within two standard errors of 0."
    assert said in " ".join(text.split())
    clear = plain(dataclasses.replace(unclear, sentence_errors=[0.45, 0.5]))
    assert "\N{ALMOST EQUAL TO}" not in clear


def test_attention_says_how_much_of_the_decision_is_the_networks():
    said = "Only the network has attention: it makes up 22 % of the decision"
    assert said in " ".join(plain(explained(network_share=0.22)).split())
    assert "Only the network" not in plain(explained())
    assert said not in plain(signed("a b c.", network_share=0.22))


def test_random_contributions_are_said_to_be_random():
    text = " ".join(plain(signed(method="random")).split())
    assert "numbers are random, a control: they say nothing about the document." in text
    assert "Log-odds" not in text


def test_documents_cannot_send_commands_to_the_terminal():
    document = explained(
        "Evil \x1b[2J\x07 \x9b31m text.",
        classes=["\x1b[31m", "pos"],
        predicted="\x1b[31m",
        target="\x1b[31m",
    )
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", plain(document))


# Of the bidirectional algorithm: marks, embeddings, overrides, isolates.
DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_no_character_turns_the_rest_of_a_line_round():
    text = f"Good{DIRECTIONS} film. " + "".join(f"{c}a{c} b{c}d. " for c in DIRECTIONS)
    label = f"pos{DIRECTIONS}"
    document = explained(text, classes=["neg", label], predicted=label, target=label)
    shown = document.to_text(width=80)
    assert not set(shown) & set(DIRECTIONS)
    assert shown.count("\ufffd") == len(DIRECTIONS) * (2 + 4)
    assert "b\ufffdd" in shown


def test_text_that_is_written_from_right_to_left_stays_as_it_is():
    assert "שלום" in plain(explained("שלום עולם. مرحبا"))


def test_lone_surrogates_can_be_printed():
    plain(explained("a \ud800 b.")).encode("utf-8")


@pytest.mark.parametrize("width", [40, 61])
@pytest.mark.parametrize(
    "text",
    [
        "A sentence that is much longer than the terminal is wide, with a word or two.",
        "https://example.org/" + "path/" * 40,
        "这部电影非常精彩演员的表演令人难忘" * 5,
    ],
)
def test_lines_fit_the_width(text, width):
    wide = re.compile("[\u4e00-\u9fff]")
    for line in plain(explained(text), width=width).splitlines():
        assert len(line) + len(wide.findall(line)) <= width


def test_wrapping_loses_nothing_but_blanks():
    text = "这部电影非常精彩演员的表演令人难忘 and  it\twas \n fun." * 9
    lines = plain(signed(text, contributions=[0] * len(signed(text).words)), width=40).splitlines()
    body = "".join(line[14:] for line in lines[1:] if line.startswith((" " * 14, "+", "-")))
    assert "".join(body.split()) == "".join(text.split())


def test_line_breaks_within_a_sentence_do_not_break_the_layout():
    assert "1.000 ██████ one two" in plain(signed("one\r\t two.", contributions=[0.1, 1]))


def test_long_documents_show_the_sentences_of_largest_weight():
    text = plain(explained(" ".join(f"Sentence {i}." for i in range(50))))
    assert "... 30 sentences with 0.365 of the attention" in text
    assert "Sentence 29" not in text
    assert "Sentence 30" in text


def test_small_values_keep_two_significant_digits_in_their_column():
    lines = plain(signed("A. B. C. D.", sentence_contributions=[0.5, -0.00047, 0.0011, -0.0]))
    assert [line[:15] for line in lines.splitlines()[1:5]] == [
        "+0.500   ██████",
        "-0.00047       ",
        "+0.0011        ",
        "0              ",
    ]


def test_of_a_long_sentence_the_first_characters_are_shown_and_the_others_counted():
    text = " ".join(plain(signed("abc " * 5000)).split())
    assert f"{'abc ' * 1500}… 14,000 more characters" in text


@pytest.mark.parametrize("text", ["word " * 100_000, "w" * 1_000_000, "w " + "!" * 1_000_000])
def test_the_size_of_what_is_printed_is_bounded(text):
    assert len(plain(explained(text))) < 20_000


def test_many_long_sentences_share_the_room():
    text = ". ".join(" ".join(f"s{i}w{j}" for j in range(200)) for i in range(20))
    shown = re.findall(r"\bs(\d+)w\d+", plain(explained(text)))
    assert len(set(shown)) == 20
    assert len(plain(explained(text))) < 10_000


def test_what_was_not_read_of_a_cut_sentence_is_counted():
    text = "word " * 2000
    cut = dataclasses.replace(
        explained(text, contributions=[1.0] + [0.0] * 1999),
        text=text + "never read",
        sentence_spans=[[0, len(text) + 10]],
        truncated=True,
    )
    assert "more characters [not read: 11 characters]" in " ".join(plain(cut).split())


def test_what_was_not_read_is_counted():
    text = plain(explained("Read this.\nBut not this rest", n_read=1))
    assert "[not read: 17 characters]" in text
    assert "rest" not in text


def test_a_text_without_words_is_shown():
    assert plain(explained("... !")).splitlines()[1:] == ["... !", NO_WORDS]


def test_a_document_without_words_says_so_where_it_stands():
    documents = ExplanationList([explained("Aa bb."), explained("..."), explained("Cc dd.")])
    lines = documents.to_text(width=80).splitlines()
    assert lines[lines.index("...") + 1] == NO_WORDS
    assert lines.count(NO_WORDS) == 1

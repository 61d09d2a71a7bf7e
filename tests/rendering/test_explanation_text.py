import dataclasses
import re
from collections import Counter

import pytest

from sk_han import ExplanationList
from tests.by_hand import explained, signed

NO_WORDS = "No words of this document were read."
WORDS_SHOWN = 1000  # most words of a document

ANSI = re.compile("\x1b\\[[0-9;]*m")


def plain(explanation, **options):
    return explanation.to_text(**{"color": False, "width": 80} | options)


def test_a_document_reads_as_probabilities_sentences_and_a_legend():
    assert plain(explained("Bad start. I loved it!")).splitlines() == [
        "predicted pos (pos 0.900, neg 0.100)",
        "0.333 ███    Bad *start*.",
        "0.667 ██████ I *loved* *it*!",
        "*Marked* words got the most attention. Attention is not a reason: it speaks",
        "neither for a class nor against one.",
    ]


def test_the_probability_of_the_explained_class_is_shown():
    classes, probabilities = list("abcdef"), [0.3, 0.25, 0.2, 0.15, 0.07, 0.03]
    others = {"classes": classes, "probabilities": probabilities, "predicted": "a", "target": "f"}
    head, *_ = plain(explained("Bad start.", **others)).splitlines()
    assert head == "predicted a (a 0.300, b 0.250, c 0.200, f 0.030), explained f"


def test_signed_contributions_are_marked_by_sign():
    text = plain(signed("a b c.", target="neg", contributions=[0.1, -0.5, 0.4]))
    assert "+1.000 ██████ a ~b~ *c*." in text
    text = " ".join(text.split())
    assert "*Marked* words speak for neg, ~marked~ words against it. The number before" in text
    assert "is the sum over its words (log-odds, by gradient_attention)." in text


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


def test_attention_is_shown_of_signed_explanations_on_request():
    assert "1.000 ██████ a *b* *c*." in plain(signed("a b c."), show="attention")


def test_an_unknown_quantity_is_refused():
    with pytest.raises(ValueError, match="show must be 'contributions' or 'attention'; got 'x'"):
        plain(explained(), show="x")


def test_color_adds_only_codes():
    text = "Great film. I loved it, \u6f14\u5458, very much indeed!"
    colored = explained(text).to_text(color=True, width=80)
    unmarked = plain(explained(text)).replace("*", "")
    assert ANSI.search(colored)
    assert ANSI.sub("", colored).splitlines()[1:3] == unmarked.splitlines()[1:3]


def test_the_strongest_word_has_the_strongest_background():
    colored = explained("a b. c d e.").to_text(color=True, width=80)
    assert "\x1b[38;5;16;48;5;43me\x1b[0m" in colored


def test_unknown_words_are_underlined_in_color():
    colored = signed("a b.", unknown=[False, True], contributions=[1, 0]).to_text(
        color=True, width=80
    )
    assert "\x1b[4mb\x1b[0m" in colored


def test_in_color_the_legend_tells_what_codes_show():
    colored = signed("a b.", unknown=[False, True], contributions=[1, -0.5]).to_text(
        color=True, width=300
    )
    assert "Blue words speak for pos, orange words against it." in colored
    assert "Underlined: not in the vocabulary" in colored
    assert "Shaded words got" in explained("a b.").to_text(color=True, width=200)


def test_the_legend_takes_two_lines():
    for explanation in (
        explained("a b."),
        signed("a b.", method="gradient_attention"),
    ):
        lines = plain(explanation, width=100).splitlines()
        assert len(lines) <= 1 + 1 + 2  # probabilities, the sentence, the legend


def test_random_contributions_are_said_to_be_random():
    text = " ".join(plain(signed(method="random")).split())
    assert "random numbers, a control: they say nothing about the document." in text
    assert "Log-odds" not in text


def test_str_has_no_codes_where_output_is_no_terminal(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b" not in str(explained())


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.usefixtures("terminal")
def test_str_has_color_in_a_terminal():
    assert "\x1b[" in str(explained())


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_the_environment_refuses_color(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert "\x1b[" not in str(explained())


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


@pytest.mark.parametrize("color", [False, True])
def test_no_character_turns_the_rest_of_a_line_round(color):
    text = f"Good{DIRECTIONS} film. " + "".join(f"{c}a{c} b{c}d. " for c in DIRECTIONS)
    label = f"pos{DIRECTIONS}"
    document = explained(text, classes=["neg", label], predicted=label, target=label)
    shown = document.to_text(color=color, width=80)
    assert not set(shown) & set(DIRECTIONS)
    assert shown.count("\ufffd") == len(DIRECTIONS) * (2 + 4)


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
    assert "1.000 ██████ one *two*" in plain(signed("one\r\t two.", contributions=[0.1, 1]))


def test_long_documents_show_the_sentences_of_largest_weight():
    text = plain(explained(" ".join(f"Sentence {i}." for i in range(50))))
    assert "... 30 sentences with 0.365 of the attention" in text
    assert "Sentence *29*" not in text
    assert "Sentence *30*" in text


def test_small_values_keep_two_significant_digits_in_their_column():
    lines = plain(signed("A. B. C. D.", sentence_contributions=[0.5, -0.00047, 0.0011, -0.0]))
    assert [line[:15] for line in lines.splitlines()[1:5]] == [
        "+0.500   ██████",
        "-0.00047       ",
        "+0.0011        ",
        "0              ",
    ]


def test_a_long_sentence_is_cut_to_its_first_words():
    text = " ".join(plain(signed(" ".join(f"w{i}" for i in range(5000)))).split())
    assert "w998 w999 … 4,000 words … *Marked* words speak" in text


@pytest.mark.parametrize("text", ["word " * 100_000, "w" * 1_000_000, "w " + "!" * 1_000_000])
def test_the_size_of_what_is_printed_is_bounded(text):
    assert len(plain(explained(text))) < 20_000


def test_the_end_of_a_word_without_end_is_counted():
    assert "www* … 700 characters …" in " ".join(plain(explained("w" * 1000)).split())


def test_many_long_sentences_share_the_room():
    text = ". ".join(" ".join(f"s{i}w{j}" for j in range(200)) for i in range(20))
    shown = re.findall(r"\bs(\d+)w\d+", plain(explained(text)))
    assert len(set(shown)) == 20
    assert max(Counter(shown).values()) <= WORDS_SHOWN // 20


def test_a_sentence_of_a_document_that_has_room_is_whole():
    assert "words …" not in plain(explained("word " * WORDS_SHOWN))
    assert "words …" in plain(explained("word " * (WORDS_SHOWN + 100)))


def test_what_was_not_read_of_a_cut_sentence_is_counted():
    text = "word " * 2000
    cut = dataclasses.replace(
        explained(text, contributions=[1.0] + [0.0] * 1999),
        text=text + "never read",
        sentence_spans=[[0, len(text) + 10]],
        truncated=True,
    )
    assert "words … [not read: 11 characters]" in " ".join(plain(cut).split())


def test_what_was_not_read_is_counted():
    text = plain(explained("Read this.\nBut not this rest", n_read=1))
    assert "[not read: 17 characters]" in text
    assert "rest" not in text


def test_a_text_without_words_is_shown():
    assert plain(explained("... !")).splitlines()[1:] == ["... !", NO_WORDS]


def test_a_document_without_words_says_so_where_it_stands():
    documents = ExplanationList([explained("Aa bb."), explained("..."), explained("Cc dd.")])
    lines = documents.to_text(color=False, width=80).splitlines()
    assert lines[lines.index("...") + 1] == NO_WORDS
    assert lines.count(NO_WORDS) == 1

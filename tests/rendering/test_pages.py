"""Pages and texts of all results, compared whole with stored copies, and what holds for each."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given

from sk_han import ExplanationList
from sk_han.translation import Alignment
from tests.by_hand import PLACE, REMOVAL, explained, signed, summarized
from tests.html_page import ANYTHING, Page, visible
from tests.inspection.results.test_result import METRICS, RESULTS
from tests.reports import (
    HOSTILE,
    SLICES,
    hostile,
    made,
    made_of_labels,
    made_of_numbers,
    of_several,
    of_size,
    one_document,
)
from tests.stored import assert_stored, by_line

MANY = " ".join(f"Number {i}." for i in range(40))
LONG = "labelofoneverylongword" * 6
LONG_WORD = "See https://" + "path/" * 90 + " and " + "Aaaaaaaaa" * 50 + "."
RLO = "\u202e"  # what follows is written from right to left
NAMES = [
    "Consumer complaints > Late fees and interest",
    "Medical devices / Implants / Malfunction without injury",
    "DISPUTES WITH MERCHANTS AND MANUFACTURERS (HARDWARE)",
]
THREE = {"classes": ["neg", "pos", LONG], "probabilities": [0.1, 0.8, 0.1]}
SIX = {
    "classes": list("abcdef"),
    "probabilities": [0.4, 0.2, 0.15, 0.12, 0.1, 0.03],
    "predicted": "a",
}
OF_COLUMNS = {
    "column_names": ("price", "<b>"),
    "column_values": ("14.5", "<script>"),
    "column_contributions": [-1.0, 5.0],
}


def added_up(target, probability):
    """Explain a document of three classes for one, by numbers that add up to its log-odds."""
    values = np.array([2.0, -0.5])
    base = np.log(probability / (1 - probability)) - values.sum()
    return signed(
        f"{LONG_WORD} Done.",
        target=target,
        method="shapley",
        base_value=base,
        sentence_contributions=values,
        **THREE,
    )


def predicting(*labels, **options):
    """Explain the texts "Number 0.", "Number 1.", ... with these predictions."""
    explanations = [
        explained(f"Number {i}.", predicted=label, target=label) for i, label in enumerate(labels)
    ]
    return ExplanationList(explanations, **options)


def for_both(*values, text="One two.", **changes):
    """Explain a document for both classes side by side, by these values of its first word."""
    return ExplanationList(
        (
            signed(text, target=target, contributions=[value, -0.5], **changes)
            for target, value in zip(("neg", "pos"), values, strict=True)
        ),
        numbers=[3, 3],
    )


def misled(text, **changes):
    """Report on two mistakes that have this explanation."""
    return made(mistakes=ExplanationList([signed(text, **changes)] * 2))


def compared(answers):
    """Report on many documents, so that the difference from a baseline of these is not chance."""
    few = made()
    return made(
        targets=np.tile(few.targets, 30),
        probabilities=np.tile(few.probabilities, (30, 1)),
        n_words=None,
        texts=None,
        baseline=np.tile(np.eye(3)[answers], (30, 1)),
    )


def of_classes(*numbers):
    """Summarize classes of so many predicted documents, with a term each."""
    first = summarized().classes[1]
    changed = dataclasses.replace(first, terms=first.terms[:1])
    return summarized(
        classes=[dataclasses.replace(changed, label=f"c{n:02}", n_predicted=n) for n in numbers]
    )


def of_terms(change, **changes):
    """Summarize two classes whose terms are changed."""
    classes = (
        dataclasses.replace(found, terms=tuple(map(change, found.terms)), **changes)
        for found in summarized().classes
    )
    return summarized(classes=tuple(classes), **changes)


def faithfulness():
    """Report on two methods, of which one metric has no interval, and one no mean."""
    methods = ("ours <b>", "random")

    def of_all(value):
        return {metric: dict.fromkeys(methods, value) for metric in METRICS}

    differences = {metric: {methods[0]: (0.1, 0.2)} for metric in METRICS}
    differences["flip"] = {methods[0]: (-0.1, 0.2)}
    differences["sufficiency"] = {methods[0]: (np.nan, np.nan)}
    return dataclasses.replace(
        RESULTS["FaithfulnessReport"],
        values=of_all(np.array([0.5, 0.5])),
        means=of_all(0.5)
        | {
            "comprehensiveness": dict.fromkeys(methods, np.nan),
            "sufficiency": dict.fromkeys(methods, -0.125),
            "flip": dict.fromkeys(methods, -0.0001),
        },
        intervals=of_all((0.25, 0.75))
        | {
            "flip": dict.fromkeys(methods, (-0.0004, 0.0001)),
            "sufficiency": dict.fromkeys(methods, (np.nan, np.nan)),
        },
        differences=differences,
        seconds=dict.fromkeys(methods, 0.0123),
    )


WRONG = predicting("pos", "neg", "pos", y_true=["pos", "pos", "neg"])
TWO = {"classes": ["late", "good"], "labels": ["late"], "predicted": "late", "target": "good"}
LABELLED = signed(
    classes=["late", "broken", "good", "long", "short"],
    probabilities=[0.75, 0.59, 0.4, 0.1, 0.04],
    thresholds=[0.7, 0.6, 0.5, 0.4, 0.03],
    labels=["late", "short"],
    predicted="late",
    target="late",
)
LEMMAS = {"word_spans": [[0, 0], [0, 0], [10, 12]], "tokens": ["she", "go", "oh"]}
LEMMAS |= {"sentence_spans": [[0, 9], [10, 13]]}
OVERLAPPING = {
    "word_spans": [[0, 2], [2, 5], [0, 5], [5, 6]],
    "tokens": ["中国", "科学院", "中国科学院", "好"],
    "sentence_of_word": [0] * 4,
    "unknown": [False] * 4,
    "word_attention": [0.1, 0.2, 0.3, 0.4],
    "contributions": [0.1, 0.2, 0.3, 0.4],
}
ALL_RIGHT = np.array([[True, False], [False, True]] * 10)
# What each is an example of; the stored copies are what readers see of it.
EXAMPLES = RESULTS | {
    "attention": explained("a b. c d e.", network_share=0.22),
    "signs": signed("a b c. d.", contributions=[0.5, -1.0, 0.01, 0.4], target="neg"),
    "unclear": signed(
        "One. Two. Six.",
        method="shapley",
        sentence_contributions=[1.4, -1.0, 0.2],
        sentence_errors=[0.7, 0.51, 0.0],
    ),
    "columns": signed(
        "a b. c d.",
        method="shapley",
        base_value=-0.5,
        sentence_contributions=[1.0, np.log(9) - 4.5],
        **OF_COLUMNS,
    ),
    "sum without columns": signed(
        "a b. c d.",
        method="shapley",
        base_value=-0.5,
        sentence_contributions=[1.0, np.log(9) - 0.5],
    ),
    "small values": signed("A. B. C. D.", sentence_contributions=[0.5, -0.00047, 0.0011, -0.0]),
    "unknown word": signed("a b.", contributions=[1, 0], unknown=[False, True]),
    "against": signed(target="pos", against="neg"),
    "words without a place": explained("She went. Oh.", **LEMMAS),
    "words in others": explained("中国科学院好", **OVERLAPPING),
    "random": signed(method="random"),
    "not read": explained("Read this.\nBut not that.", n_read=1),
    "cut sentence": dataclasses.replace(
        explained("One two."), text="One two. Three", sentence_spans=[[0, 14]], truncated=True
    ),
    "closing punctuation": explained("One two!).", truncated=True),
    "long": explained(MANY),
    "long of signs": signed(MANY, sentence_contributions=[-0.001] * 10 + [1.0] * 30),
    "long rest": explained("Read. " + "rest " * 500, n_read=1),
    "last class": explained("Bad start.", **SIX, target="f"),
    "second class": signed(**SIX, target="b"),
    "no words": explained("...!"),
    "no words between": ExplanationList([explained("Aa."), explained("..."), explained("Cc.")]),
    "predictions": predicting("pos", "neg"),
    "wrong": WRONG,
    "all right": predicting("pos", "neg", y_true=["pos", "neg"]),
    "mistakes": WRONG.mistakes().by_confidence(),
    "each method": ExplanationList([signed(), signed(method="shapley"), signed()]),
    "neg for all": ExplanationList([signed(target="neg")] * 2),
    "predicted class": ExplanationList(
        [signed(), signed(predicted="neg", target="neg", probabilities=[0.9, 0.1])]
    ),
    "both classes": for_both(-0.5, 1.0),
    "both classes of a long one": ExplanationList(
        [explained(MANY, target=target) for target in ("neg", "pos")], numbers=[0, 0]
    ),
    "both classes not read": ExplanationList(
        [explained("Read. But not.", n_read=1, target=target) for target in ("neg", "pos")],
        numbers=[0, 0],
    ),
    "one number of two": ExplanationList([explained("One."), explained("Two.")], numbers=[3, 3]),
    "empty list": ExplanationList(y_true=[]),
    "thresholds": ExplanationList([LABELLED], y_true=[("late", "good")]),
    "audit explained": dataclasses.replace(
        RESULTS["LabelAudit"], explanations=ExplanationList([signed()])
    ),
    "audit of no labels": dataclasses.replace(
        RESULTS["LabelAudit"], documents=[], given=[], suggested=[], doubts=[], texts=None
    ),
    "nothing accepted": dataclasses.replace(RESULTS["SelectiveThreshold"], nearest_error=0.13),
    "accepted": dataclasses.replace(RESULTS["SelectiveThreshold"], threshold=0.9),
    "thresholds alone": LABELLED,
    "no label": dataclasses.replace(LABELLED, labels=(), target="good"),
    "summary of labels": dataclasses.replace(summarized(), several_labels=True),
    "fit of labels": dataclasses.replace(RESULTS["FitSummary"], several_labels=True),
    "mistakes of labels": made_of_labels(
        mistake_rows=np.array([0, 1]),
        mistake_labels=np.array([1, 1]),
        mistakes=ExplanationList([signed(**TWO | {"labels": ["late", "good"]}), signed(**TWO)]),
    ),
    "report of no known label": made_of_labels(targets=np.zeros((2, 2), dtype=bool)),
    "one right": one_document(right=True),
    "one wrong": one_document(right=False),
    "misled by a sentence": misled("Bad. Good. Fine.", sentence_contributions=[-3, 0.5, 0.25]),
    "misled by a column": misled("Bad. Good.", sentence_contributions=[-3, 0.5], **OF_COLUMNS),
    "misled by what is unclear": misled(
        "Bad. Good.", sentence_contributions=[0, 0.6], sentence_errors=[0.4, 0.4]
    ),
    "misled by nothing": misled("Bad.", sentence_contributions=[-1]),
    "misled without words": made(mistakes=ExplanationList([explained("?!")] * 2)),
    "report without texts": made(texts=None, n_words=None, mistakes=ExplanationList()),
    "report of nothing odd": made(suspects=[], duplicates=[], trained_on=None, baseline=None),
    "report of learnt documents": made(trained_on=[1, 2], duplicates=[(0, 1)]),
    "report of new documents": made(trained_on=[]),
    "report of slices": made(slices=SLICES, n_slices=1234),
    "report of slices of labels": made_of_labels(slices=[SLICES[0]._replace(examples=(0, 1))]),
    "report of slices of numbers": made_of_numbers(slices=SLICES, n_slices=1234),
    "report of no slices": made(n_slices=1234),
    "many labels": dataclasses.replace(of_size(200, 60), texts=None),
    "many labels all right": made(
        labels=[f"label {i}" for i in range(60)],
        targets=np.arange(60),
        probabilities=np.eye(60),
        mistakes=ExplanationList(),
        mistake_rows=np.array([], dtype=int),
        suspects=[],
        duplicates=[],
        **dict.fromkeys(["n_words", "texts", "trained_on", "baseline"]),
    ),
    "report of several labels": of_several(20, 9),
    "worse than the baseline": compared([0, 0, 0, 1, 1, 2]),
    "better than the baseline": compared([1, 1, 1, 1, 0, 0]),
    "as good as the baseline": compared([0, 1, 0, 1, 0, 0]),
    "as good as the baseline on labels": made_of_labels(
        targets=ALL_RIGHT,
        predicted=ALL_RIGHT,
        probabilities=ALL_RIGHT * 0.9,
        baseline=ALL_RIGHT * 0.9,
    ),
    "sure": made(probabilities=np.tile([0.99999, 0.00001], (6, 1))),
    "report of names alike": made(
        labels=["Electronics, computers, laptops", "Electronics, computers, printers", "x"]
    ),
    "many classes": of_classes(*range(13)),
    "four classes": of_classes(1, 5, 3, 2),
    "no decisions": of_terms(lambda term: dataclasses.replace(term, decides=None), removal=None),
    "no terms": summarized(
        classes=[dataclasses.replace(each, terms=()) for each in summarized().classes]
    ),
    "no classes": summarized(classes=()),
    "no share": summarized(
        removal=dataclasses.replace(REMOVAL, fall=-0.11, fall_random=-0.004, fall_all=0.5)
    ),
    "faithfulness": faithfulness(),
}
# Results whose every text would run code if it were not escaped.
HOSTILE_RESULTS = [
    dataclasses.replace(
        RESULTS["FitSummary"], macro_f1=0.5, worst_class=HOSTILE, worst_recall=0.5, n_worst=1
    ),
    dataclasses.replace(RESULTS["TrainingSummary"], unit=HOSTILE),
    dataclasses.replace(
        RESULTS["FaithfulnessReport"],
        seconds={HOSTILE: 1.0},
        means={metric: {HOSTILE: 0.5} for metric in METRICS},
        intervals={metric: {HOSTILE: (0.25, 0.75)} for metric in METRICS},
    ),
    dataclasses.replace(
        RESULTS["LabelAudit"],
        labels=(HOSTILE, "b"),
        texts=(HOSTILE, HOSTILE),
        conflicts=[(0, 1)],
        notes=(HOSTILE,),
    ),
    dataclasses.replace(RESULTS["SelectiveThreshold"], label=HOSTILE, notes=(HOSTILE,)),
    dataclasses.replace(RESULTS["MixEstimate"], labels=(HOSTILE, "b")),
    dataclasses.replace(
        RESULTS["DriftReport"],
        comparisons=[one._replace(name=HOSTILE) for one in RESULTS["DriftReport"].comparisons],
    ),
    made_of_labels(labels=(HOSTILE, "b"), texts=[HOSTILE] * 2, duplicates=[(0, 1)]),
    made_of_numbers(estimator=HOSTILE, notes=[HOSTILE], mistakes=(), texts=[HOSTILE] * 12),
    Alignment(HOSTILE, HOSTILE, [HOSTILE], [HOSTILE], [[1.0]]),
    hostile(),
]


def with_text(text):
    """Put a text wherever an explanation, a list of them and a summary have one."""
    labels = {"classes": np.array([text, text + "b"], dtype=object), "predicted": text}
    columns = {"column_names": (text,), "column_values": (text,), "column_contributions": [1.0]}
    explanation = signed(text, **labels, **columns, target=text + "b", method=text)
    place = dataclasses.replace(PLACE, before=text, written=text, after=text, predicted=text)
    classes = [
        dataclasses.replace(
            found,
            label=text + str(number),
            terms=[dataclasses.replace(term, text=text, contexts=(place,)) for term in found.terms],
        )
        for number, found in enumerate(summarized().classes * 2)
    ]
    several = ExplanationList([explanation], y_true=[text])
    return explanation, several, summarized(classes=classes)


PAGES = EXAMPLES | {
    "right to left": signed("הסרט הזה היה נפלא. המשחק של Tom היה טוב מאוד!"),
    "emoji": signed("I ❤️ this 👨‍👩‍👧‍👦 film 😍😍! 这部电影非常精彩."),
    "large numbers": signed(contributions=[-123.456] * 5, sentence_contributions=[-123.456] * 2),
    "long explanation": signed(MANY, method=HOSTILE),
    "long word": signed(LONG_WORD),
    "long labels": signed(
        classes=[f"{LONG}{i}" for i in range(20)],
        probabilities=np.full(20, 0.05),
        predicted=f"{LONG}0",
        target=f"{LONG}19",
    ),
    "side by side": ExplanationList(
        map(added_up, THREE["classes"], THREE["probabilities"]), numbers=[0] * 3
    ),
    "report of long labels": made(labels=[f"{LONG}{i}" for i in range(3)]),
    "report of long names": made(labels=NAMES),
    "report of many labels": of_size(1000, 60),
    "report of many of several labels": of_several(200, 30),
    "report of short names": dataclasses.replace(
        of_size(300, 30), labels=list(map(str, range(30)))
    ),
    **{f"hostile {type(each).__name__}": each for each in (*HOSTILE_RESULTS, *with_text(HOSTILE))},
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_results_render_like_their_stored_copies(name):
    stored, result = name.replace(" ", "_"), EXAMPLES[name]
    assert_stored(f"{stored}.html", by_line(result.to_html()))
    assert_stored(f"{stored}.txt", result.to_text(width=80) + "\n")


@pytest.mark.parametrize("name", RESULTS)
def test_notebook_fragments_match_their_stored_copies(name):
    assert_stored(f"{name.replace(' ', '_')}.fragment.html", by_line(RESULTS[name]._repr_html_()))


@pytest.mark.parametrize("result", PAGES.values(), ids=PAGES)
def test_a_page_is_self_contained_and_styles_every_class(result):
    html = result.to_html()
    page, styles = Page(html), html[html.index("<style>") : html.index("</style>")]
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object"}
    assert not re.search(r"url\(|@import", html)
    for _, attributes in page.tags:
        assert not any(name == "src" or name.startswith("on") for name in attributes)
        assert attributes.get("href", "#").startswith("#")
        for name in attributes.get("class", "").split():
            assert re.search(rf"\.{name}[ .\[,:]", styles), name


def test_markup_in_every_kind_of_result_is_escaped():
    results = [*HOSTILE_RESULTS, *with_text(HOSTILE)]
    assert {type(each) for each in results} >= {type(each) for each in RESULTS.values()}
    for result in results:
        assert "<script" not in result.to_html()
        assert "<script>" in Page(result.to_html()).all_text
        assert "\x1b" not in result.to_text(width=200) + result.to_html()


TAGS = [{tag for tag, _ in Page(result.to_html()).tags} for result in with_text("Plain.")]


@given(ANYTHING)
def test_any_text_is_shown_and_makes_a_whole_page(text):
    results = with_text(text)
    for result, tags in zip(results, TAGS, strict=True):
        html = result.to_html()
        html.encode()
        page = Page(html)
        assert {tag for tag, _ in page.tags} <= tags
        assert len(text) > 200 or visible(text) in page.all_text
    assert Page(results[0].to_html()).text == visible(text)


def test_bidirectional_controls_are_isolated_from_the_page():
    text, labels = f"One {RLO}two. Three {RLO}four. Five", {"classes": ["neg", RLO]}
    for explanation in (
        explained(text, n_read=2, **labels, predicted=RLO, target=RLO),
        signed(text, **labels, predicted=RLO, target="neg"),
    ):
        for result in (explanation, ExplanationList([explanation], y_true=[RLO])):
            html = result.to_html()
            assert RLO in html
            isolated = r"<bdi>[^<]*</bdi>|<div class=\"han-sentence\">.*?</div>"
            assert RLO not in re.sub(isolated, "", html)
    assert re.search(r"\.han-sentence \{[^}]*unicode-bidi: plaintext", html)


def test_a_long_sentence_is_shown_whole():
    assert Page(explained("word " * 5000).to_html()).text == "word " * 5000


def test_a_notebook_shows_the_first_fifty_of_a_list():
    explanations = ExplanationList([explained()] * 53)
    html = explanations._repr_html_()
    assert html.count('<details class="han-document"') == 50
    assert "and 3 more documents" in html
    assert explanations.to_html().count('<details class="han-document"') == 53


@pytest.mark.parametrize("n_labels", [2, 20, 300])
def test_the_size_of_a_report_is_bounded(n_labels):
    report = of_size(5000, n_labels)
    assert len(report.to_html()) < 2_500_000
    assert len(report._repr_html_()) < 600_000
    assert len(report.to_text(width=100).splitlines()) < 60

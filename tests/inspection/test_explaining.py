from __future__ import annotations

import copy
import inspect
import itertools
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sk_han
from sk_han import (
    DocumentArray,
    HierarchicalTokenizer,
    explain,
    explain_classes,
    explain_iter,
    report,
)
from sk_han.serving import Scorer
from tests import tiny_models
from tests.html_page import Page

TEXTS = ["A good film. We laughed a lot!", "Bad, long and dull. We left."] * 8
LABELS = ["pos", "neg"] * 8

METHODS = ("shapley", "gradient_attention", "attention", "random")
SHOUT = FunctionTransformer(lambda texts: [text.upper() for text in texts])

tiny = partial(tiny_models.tiny, max_epochs=2)


@pytest.fixture(scope="module")
def fitted():
    return tiny().fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def shouting():
    return make_pipeline(SHOUT, HierarchicalTokenizer(), tiny()).fit(TEXTS, LABELS)


@pytest.mark.parametrize("by_scorer", [False, True])
def test_ids_stand_in_place_of_numbers(fitted, tmp_path, by_scorer):
    def explained(index):
        texts = pd.Series(TEXTS[:4], index=index)
        return model.explain(texts)

    model = fitted
    if by_scorer:
        sk_han.save(fitted, tmp_path / "m.han")
        model = Scorer.load(tmp_path / "m.han")
    found = explained(["r7", "r8", "<b>", "r9"])
    assert found.to_frame()["document"].tolist() == ["r7", "r8", "<b>", "r9"]
    assert found[[3, 1]].to_frame("word")["document"].unique().tolist() == ["r9", "r8"]
    mistakes = found.mistakes([{"pos": "neg", "neg": "pos"}[e.predicted] for e in found])
    assert sorted(mistakes.numbers.tolist()) == [0, 1, 2, 3]
    names = [["r7", "r8", "<b>", "r9"][number] for number in mistakes.numbers]
    assert [each["document"] for each in mistakes.to_dict()] == mistakes.ids == names
    page = Page(found.to_html()).all_text
    assert "Document r7: predicted" in page
    assert "Document <b>: predicted" in page
    assert "[<b>] " in found.to_text()
    for index in (range(4), [5, 5, 6, 7]):  # no ids, and none that tell documents apart
        assert explained(index).ids == [0, 1, 2, 3]
    assert explained(pd.Index([3, 2, 1, 0])).ids == [3, 2, 1, 0]


def test_true_labels_stay_with_the_explanations(fitted):
    true = ["neg", *LABELS[1:]]
    explanations = fitted.explain(TEXTS, y_true=true)
    assert explanations.y_true.tolist() == true
    wrong = [i for i, e in enumerate(explanations) if e.predicted != true[i]]
    assert sorted(explanations.mistakes().numbers.tolist()) == wrong
    assert explain(fitted, TEXTS).y_true is None


def test_words_and_sentences_are_those_of_the_raw_text(fitted):
    explanation = fitted.explain(["A good film. We laughed a lot!"])[0]
    assert explanation.words == ("A", "good", "film", ".", "We", "laughed", "a", "lot", "!")
    assert explanation.sentences == ("A good film.", "We laughed a lot!")


def test_words_are_in_order_within_their_sentences(fitted):
    for explanation in fitted.explain([*TEXTS, "", "One. two\n\n  three?! 四。五"]):
        words, of_word = explanation.word_spans, explanation.sentence_of_word
        for spans in (words, explanation.sentence_spans):
            assert (np.diff(spans.reshape(-1), prepend=0, append=len(explanation.text)) >= 0).all()
        assert np.unique(of_word).tolist() == list(range(len(explanation.sentence_spans)))
        assert (np.diff(of_word) >= 0).all()
        assert (words[:, 0] >= explanation.sentence_spans[of_word, 0]).all()
        assert (words[:, 1] <= explanation.sentence_spans[of_word, 1]).all()


def test_attention_sums_to_one_at_both_levels(fitted):
    for explanation in fitted.explain(TEXTS):
        of_sentence = np.bincount(explanation.sentence_of_word, explanation.word_attention)
        np.testing.assert_allclose(of_sentence, 1.0, atol=1e-6)
        assert explanation.sentence_attention.sum() == pytest.approx(1.0, abs=1e-6)
        assert explanation.combined_attention.sum() == pytest.approx(1.0, abs=1e-6)


def test_probabilities_and_labels_are_those_of_the_classifier(fitted):
    explanations = fitted.explain(TEXTS)
    np.testing.assert_allclose(
        [e.probabilities for e in explanations], fitted.predict_proba(TEXTS), atol=1e-6
    )
    assert [e.predicted for e in explanations] == fitted.predict(TEXTS).tolist()


def test_explanations_share_the_names_of_classes_and_not_those_of_the_model(fitted):
    one, other = fitted.explain(TEXTS[:2])
    assert one.classes is other.classes
    assert not one.classes.flags.writeable
    assert fitted.classes_.flags.writeable


def test_a_pipeline_explains_as_its_classifier_does(fitted):
    pipeline = make_pipeline(HierarchicalTokenizer(), tiny()).fit(TEXTS, LABELS)
    assert explain(pipeline, TEXTS) == explain(fitted, TEXTS)


def test_a_step_behind_the_tokenizer_is_refused(fitted):
    step = FunctionTransformer(lambda documents: documents)
    pipeline = make_pipeline(HierarchicalTokenizer(), step, tiny()).fit(TEXTS, LABELS)
    with pytest.raises(TypeError, match="between tokenizer and classifier"):
        explain(pipeline, TEXTS)


@pytest.mark.thorough
def test_attention_over_very_many_sentences_sums_to_one(fitted):
    explanation = fitted.explain(["Good. " * 400_000], method="attention")[0]
    assert explanation.sentence_attention.sum() == pytest.approx(1.0, abs=1e-5)


def test_unknown_words_are_marked(fitted):
    explanation = fitted.explain(["A good zyxxy."])[0]
    assert explanation.unknown.tolist() == [False, False, True, False]


@pytest.mark.parametrize("text", ["", "  \n", "--"])
def test_an_empty_document_has_an_empty_explanation(fitted, text):
    explanation = fitted.explain([text, TEXTS[0]])[0]
    assert explanation.words == ()
    assert explanation.sentences == ()
    assert np.isfinite(explanation.probabilities).all()
    assert text.strip() in explanation.to_html()


def test_what_a_limit_cut_off_is_told():
    tokenizer = HierarchicalTokenizer(max_sentences=1)
    explanation = tiny(tokenizer=tokenizer).fit(TEXTS, LABELS).explain(TEXTS[:1])[0]
    assert explanation.truncated
    assert explanation.sentences == ("A good film.",)


def test_word_ids_are_explained_as_their_texts_and_written_out_as_words(fitted):
    texts = ["A good film. We laughed!", *TEXTS]
    found = fitted.explain(fitted.tokenizer_.transform(texts))
    assert found[0].text == "a good film .\nwe laughed !"
    assert found[0].words == ("a", "good", "film", ".", "we", "laughed", "!")
    for one, other in zip(found, fitted.explain(texts), strict=True):
        np.testing.assert_array_equal(one.contributions, other.contributions)


def test_word_ids_without_a_tokenizer_are_written_out_as_numbers():
    documents = DocumentArray.from_nested([[[2, 3], [4]], [], [[5]]] * 4)
    classifier = tiny().fit(documents[[0, 2] * 4], [0, 1] * 4)
    explanations = explain(classifier, documents)
    assert explanations[0].text == "#2 #3\n#4"
    assert explanations[1].text == ""


def test_an_unfitted_estimator_is_refused():
    with pytest.raises(NotFittedError):
        explain(tiny(), TEXTS)
    with pytest.raises(NotFittedError):
        explain(make_pipeline(HierarchicalTokenizer(), tiny()), TEXTS)


def test_a_tokenizer_in_a_pipeline_of_a_pipeline_is_found(fitted):
    outer = make_pipeline(make_pipeline(HierarchicalTokenizer()), tiny()).fit(TEXTS, LABELS)
    assert explain(outer, TEXTS) == explain(fitted, TEXTS)
    inner = make_pipeline(SHOUT, make_pipeline(HierarchicalTokenizer(), tiny())).fit(TEXTS, LABELS)
    assert explain(inner, TEXTS[:1])[0].text == TEXTS[0].upper()


def test_a_pipeline_without_our_classifier_is_refused():
    linear = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TEXTS, LABELS)
    for function in (explain, explain_classes):
        with pytest.raises(TypeError, match="explain needs a HANClassifier"):
            function(linear, TEXTS)


@pytest.mark.parametrize("text", [TEXTS[0], TEXTS[0].encode()], ids=["str", "bytes"])
@pytest.mark.parametrize("params", [{}, {"target": ["pos"]}], ids=str)
def test_a_bare_string_is_refused_as_a_string(fitted, shouting, text, params):
    for estimator in (fitted, shouting):
        with pytest.raises(ValueError, match=r"string object received.*list: \[text\]"):
            explain_iter(estimator, text, **params)


# The target


@pytest.mark.parametrize("one", [str, np.str_, np.array, lambda label: pa.array([label])[0]])
def test_one_label_is_explained_for_all(fitted, one):
    assert [e.target for e in fitted.explain(TEXTS[:2], target=one("neg"))] == ["neg"] * 2


@pytest.mark.parametrize(
    "container",
    [
        list,
        tuple,
        np.array,
        pd.Series,
        lambda labels: pd.DataFrame({"label": labels}),
        pl.Series,
        pa.array,
    ],
)
def test_each_document_has_its_label(fitted, container):
    explanations = fitted.explain(TEXTS[:3], target=container(["neg", "pos", "neg"]), batch_size=2)
    assert [e.target for e in explanations] == ["neg", "pos", "neg"]


@pytest.mark.parametrize(
    ("target", "named"),
    [
        ("good", "target is 'good'"),
        (["good", "pos"], r"target\[0\] is 'good'"),
        ({"a": 1}, "target"),
        ({"pos"}, "target"),
        ([["pos"]], "target"),
        ([["pos"], ["neg", "pos"]], "target"),
        (np.array([["neg", "pos"]]), r"target\[0\] is \['neg', 'pos'\]"),
    ],
    ids=str,
)
def test_a_target_that_is_no_class_is_refused(fitted, target, named):
    message = rf"{named}.*; the classes are 'neg', 'pos'. Give one of them for all documents"
    with pytest.raises(ValueError, match=message):
        explain_iter(fitted, TEXTS[:2], target=target)


def test_a_long_target_and_many_classes_are_not_told_whole():
    texts = [f"{word} number{i}." for i in range(25) for word in ("A", "Another")]
    classes = np.repeat([f"class {number:04}" for number in range(25)], 2)
    fitted = tiny(max_epochs=1, validation_fraction=None).fit(texts, classes)
    with pytest.raises(ValueError, match=r"classes are 'class 0000', .* and 5 more") as told:
        fitted.explain(TEXTS[:2], target="a" * 10_000)
    assert len(str(told.value)) < 600


def test_a_wrong_number_of_targets_is_refused(fitted):
    with pytest.raises(ValueError, match="target has 2 labels for 3 documents"):
        fitted.explain(TEXTS[:3], target=["pos", "neg"])
    with pytest.raises(ValueError, match="target has 3 labels for 2 documents"):
        list(explain_iter(fitted, iter(TEXTS[:2]), target=["pos", "neg", "pos"]))
    with pytest.raises(ValueError, match="target has 1 label for 2 documents or more"):
        list(explain_iter(fitted, iter(TEXTS[:2]), target=["pos"]))


# One class against another

MIXED = ["It was a film. So so."] * 4


@pytest.fixture(scope="module")
def of_three():
    return tiny(max_epochs=3, lr=0.05).fit([*TEXTS, *MIXED], [*LABELS, *["so so"] * 4])


def logits_of(classifier, texts):
    return classifier.pool_.logits(classifier.tokenizer_.transform(texts))


def test_against_one_class_sentences_sum_to_the_difference_of_two_scores(of_three):
    z, nothing = logits_of(of_three, TEXTS), logits_of(of_three, [""])[0]
    for explanation, scores in zip(
        of_three.explain(TEXTS, target="pos", against="so so"), z, strict=True
    ):
        assert (explanation.target, explanation.against) == ("pos", "so so")
        change = (scores - nothing) @ [0, 1, -1]  # neg, pos, so so
        assert explanation.sentence_contributions.sum() == pytest.approx(change, abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_what_speaks_for_a_class_speaks_against_its_rival(of_three, method):
    one = explain(of_three, TEXTS[:4], target="pos", against="neg", method=method, random_state=0)
    other = explain(of_three, TEXTS[:4], target="neg", against="pos", method=method, random_state=0)
    sign = 1 if method in ("attention", "random") else -1
    for e, reverse in zip(one, other, strict=True):
        for name in ("contributions", "sentence_contributions", "ngram_contributions"):
            expected = (-1 if name == "ngram_contributions" else sign) * getattr(reverse, name)
            np.testing.assert_allclose(getattr(e, name), expected, atol=1e-5)


def test_against_the_other_of_two_classes_is_what_the_target_is_anyway(fitted):
    for one, other in zip(
        fitted.explain(TEXTS[:3], target="pos", against="neg"),
        fitted.explain(TEXTS[:3], target="pos"),
        strict=True,
    ):
        np.testing.assert_allclose(one.contributions, other.contributions, atol=1e-6)


def test_against_the_predicted_class_the_next_likely_one_is_explained(of_three):
    ranked = of_three.classes_[np.argsort(-of_three.predict_proba(TEXTS), axis=1)]
    found = of_three.explain(TEXTS, against=ranked[:, 0])
    assert [e.target for e in found] == ranked[:, 1].tolist()
    assert [e.target for e in of_three.explain(TEXTS, against=ranked[:, 1])] == ranked[
        :, 0
    ].tolist()


def test_a_page_a_table_and_text_name_the_rival(of_three):
    found = of_three.explain(TEXTS[:2], target="pos", against="so so")
    for written in (found.to_text(), found.to_html(), found[0].to_text()):
        assert "pos rather than so so" in re.sub("<[^>]*>", "", written)
    for level in ("document", "sentence", "word"):
        assert set(found.to_frame(level)["against"]) == {"so so"}
        assert "against" not in of_three.explain(TEXTS[:2]).to_frame(level)


def test_rivals_that_are_none_are_refused(of_three):
    for texts in (TEXTS[:2], iter(TEXTS[:2])):
        with pytest.raises(ValueError, match="target and against are both 'pos'; give two classes"):
            explain(of_three, texts, target=["neg", "pos"], against="pos")
    with pytest.raises(ValueError, match=r"against\[1\] is 'good'; the classes are"):
        of_three.explain(TEXTS[:2], against=["pos", "good"])
    with pytest.raises(ValueError, match="against has 3 labels for 2 targets"):
        explain(of_three, iter(TEXTS[:2]), target=["pos", "pos"], against=["neg"] * 3)
    with pytest.raises(ValueError, match="against has 3 labels for 2 documents"):
        of_three.explain(TEXTS[:2], against=["neg"] * 3)
    with pytest.raises(ValueError, match="against is 'neg' and targets 'predicted'"):
        explain(of_three, TEXTS[:2], against="neg", targets="predicted")
    with pytest.warns(UserWarning, match="a single class"):
        of_one = tiny().fit(TEXTS, ["pos"] * 16)
    with pytest.raises(ValueError, match="against is 'pos', but the model knows no other class"):
        of_one.explain(TEXTS[:2], against="pos")
    several = tiny().fit(TEXTS, np.stack([np.array(LABELS) == "pos"] * 2, axis=1))
    with pytest.raises(ValueError, match="labels here, which do not exclude each other"):
        several.explain(TEXTS[:2], against=0)


# Parameters


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"method": "grad"}, "method must be one of .*'random'.*; got 'grad'"),
        ({"method": None}, "method must be one of .*; got None"),
        ({"batch_size": 0}, "batch_size must be an integer of at least 1; got 0"),
        ({"batch_size": 2.0}, "batch_size must be an integer of at least 1; got 2.0"),
        *(({"random_state": r}, "random_state must be an integer >= 0") for r in ("a", 1.5, -1)),
    ],
    ids=str,
)
def test_a_wrong_parameter_is_refused_at_once(fitted, params, message):
    with pytest.raises(ValueError, match=message):
        explain_iter(fitted, TEXTS, **params)


# Batches


@pytest.mark.parametrize("method", [m for m in METHODS if m != "random"])
def test_no_method_depends_on_the_batch(fitted, method):
    texts = [*TEXTS[:3], "", "Zyxxy.", "Bad."]
    together, apart = (
        fitted.explain(texts, method=method, target="pos", batch_size=size) for size in (6, 1)
    )
    for one, other in zip(together, apart, strict=True):
        for name in ("contributions", "sentence_contributions", "word_attention", "probabilities"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-6)


def test_an_iterator_is_read_as_its_explanations_are_asked_for(fitted):
    read = []

    def endless():
        for number in itertools.count():
            read.append(number)
            yield f"Good film number {number}."

    explanations = explain_iter(fitted, endless(), batch_size=2)
    assert read == []
    texts = [next(explanations).text for _ in range(3)]
    assert texts == [f"Good film number {number}." for number in range(3)]
    assert read == [0, 1, 2, 3]


def test_a_missing_text_of_an_iterator_is_named_by_its_place_in_it(fitted):
    explanations = explain_iter(fitted, iter([*TEXTS[:4], None, "good"]), batch_size=3)
    with pytest.raises(TypeError, match="Document 4 is missing"):
        list(explanations)


def test_documents_before_the_estimator_are_not_printed(fitted):
    for function in (explain, explain_iter, partial(report, y=LABELS)):
        with pytest.raises(
            TypeError, match="The first argument is a list, which is not an estimator"
        ):
            function(TEXTS, fitted)


def test_steps_before_the_tokenizer_are_applied(shouting):
    assert explain(shouting, TEXTS[:1])[0].text == TEXTS[0].upper()
    found = explain_iter(shouting, iter(TEXTS), batch_size=3)
    assert [e.text for e in found] == [text.upper() for text in TEXTS]


@pytest.mark.parametrize("engine", ["numba", "torch"])
@pytest.mark.parametrize("method", METHODS)
def test_documents_without_words_are_explained_by_every_method(fitted, method, engine):
    fitted = copy.copy(fitted).set_params(engine=engine)
    empty, unknown = fitted.explain(["", "Zyxxy"], method=method)
    assert (len(empty.contributions), len(empty.sentence_contributions)) == (0, 0)
    assert len(unknown.contributions) == 1
    alone = fitted.explain([""], method=method)[0]
    np.testing.assert_allclose(alone.probabilities, empty.probabilities, atol=1e-6)


# Nothing changes


@pytest.mark.parametrize("method", METHODS)
def test_explaining_changes_nothing(fitted, method):
    network = fitted.net_.module_
    weights = {name: w.clone() for name, w in network.state_dict().items()}
    table, random, numpy_random = network._projected, torch.get_rng_state(), np.random.get_state()
    before = fitted.predict_proba(TEXTS)
    fitted.explain(TEXTS, method=method)
    np.testing.assert_array_equal(fitted.predict_proba(TEXTS), before)
    assert all(torch.equal(w, weights[name]) for name, w in network.state_dict().items())
    assert not any(module.training for module in network.modules())
    assert network._projected is table
    assert torch.equal(torch.get_rng_state(), random)
    assert all(map(np.array_equal, np.random.get_state(), numpy_random))


@pytest.mark.parametrize("method", METHODS)
def test_no_weight_gets_another_gradient(fitted, method):
    weights = list(fitted.net_.module_.parameters())
    before = [weight.grad for weight in weights]
    fitted.explain(TEXTS, method=method)
    assert all(w.grad is grad for w, grad in zip(weights, before, strict=True))


@pytest.mark.parametrize("switch", [torch.no_grad, torch.inference_mode])
def test_a_caller_without_gradients_gets_the_same(fitted, switch):
    expected = fitted.explain(TEXTS)
    with switch():
        assert fitted.explain(TEXTS) == expected


def test_a_classifier_with_frozen_weights_is_explained(fitted):
    expected = fitted.explain(TEXTS)
    fitted.net_.module_.requires_grad_(False)
    assert fitted.explain(TEXTS) == expected
    fitted.net_.module_.requires_grad_(True)


def test_a_batch_too_large_for_the_memory_is_explained_in_halves(fitted, monkeypatch):
    expected, encode = fitted.explain(TEXTS, target="pos"), fitted.net_.module_.sentence_encoder

    def encode_few(states, index, sentences_per_document):
        if len(sentences_per_document) > 5:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return type(encode).forward(encode, states, index, sentences_per_document)

    monkeypatch.setattr(encode, "forward", encode_few)
    for one, other in zip(fitted.explain(TEXTS, target="pos"), expected, strict=True):
        np.testing.assert_allclose(one.contributions, other.contributions, atol=1e-6)


# Each of several classes


def test_each_document_is_explained_for_each_class(of_three):
    explanations = explain_classes(of_three, TEXTS[:2])
    assert [e.target for e in explanations] == ["neg", "pos", "so so"] * 2
    assert explanations.numbers.tolist() == [0, 0, 0, 1, 1, 1]
    alone = explain(of_three, TEXTS[1:2], target="so so")[0]
    np.testing.assert_allclose(explanations[5].contributions, alone.contributions, atol=1e-6)


def test_chosen_classes_are_explained_in_their_order(of_three):
    explanations = explain_classes(of_three, iter(TEXTS[:2]), classes=["so so", "neg"])
    assert [e.target for e in explanations] == ["so so", "neg"] * 2
    assert [e.target for e in explain_classes(of_three, TEXTS[:1], classes="pos")] == ["pos"]


@pytest.mark.parametrize("container", [np.array, pd.Series, pd.Index, pl.Series, pa.array])
def test_classes_and_true_labels_come_in_any_container(of_three, container):
    labels = container(["so so", "neg"])
    explanations = explain_classes(of_three, TEXTS[:2], classes=labels, y_true=labels)
    assert [e.target for e in explanations] == ["so so", "neg"] * 2
    assert explanations.y_true.tolist() == ["so so", "so so", "neg", "neg"]


def test_true_labels_of_explain_classes_are_those_of_documents(of_three):
    explanations = explain_classes(of_three, TEXTS[:2], classes=["pos", "neg"], y_true=LABELS[:2])
    assert explanations.y_true.tolist() == ["pos", "pos", "neg", "neg"]
    with pytest.raises(ValueError, match=r"each of 2 documents.*got the shape \(3,\)"):
        explain_classes(of_three, TEXTS[:2], y_true=LABELS[:3])


def test_explain_classes_hands_parameters_on(of_three):
    assert explain_classes(of_three, TEXTS[:1], method="attention")[0].method == "attention"
    with pytest.raises(TypeError, match="takes classes in place of target"):
        explain_classes(of_three, TEXTS[:1], target="pos")
    with pytest.raises(TypeError, match="compares each class with all others"):
        explain_classes(of_three, TEXTS[:1], against="pos")


def test_no_classes_and_unknown_ones_are_refused(of_three):
    with pytest.raises(ValueError, match="one class or more"):
        explain_classes(of_three, TEXTS[:1], classes=[])
    with pytest.raises(ValueError, match="target is 'bed'; the classes are"):
        explain_classes(of_three, TEXTS[:1], classes=["bed"])


@pytest.mark.parametrize("nothing", [None, 5])
def test_what_is_no_documents_is_named(of_three, nothing):
    with pytest.raises(TypeError, match=f"raw text documents expected; got {nothing}"):
        explain_classes(of_three, nothing)


# Words of a custom tokenizer that do not stand in the text.


LEMMAS = {"went": "go", "best": "good", "shows": "show"}


def lemmas(sentence):
    words = re.findall(r"\w+", sentence)
    return [LEMMAS.get(word, word) for word in words if word not in ("to", "the")]


@pytest.fixture(scope="module")
def of_lemmas():
    texts = ["She went to the best shows. Good!", "He left. Bad shows."] * 8
    return tiny(tokenizer=HierarchicalTokenizer(word_tokenizer=lemmas)).fit(texts, LABELS)


def test_words_without_a_place_are_listed_by_their_token(of_lemmas):
    text = "She went to the best shows."
    found = explain(of_lemmas, [text])[0]
    assert found.words == ("She", "go", "good", "show")
    assert found.word_spans.tolist() == 4 * [[0, 0]]
    assert sorted(word.text for word in found.top()) == ["She", "go", "good", "show"]
    assert found.to_frame()["word"].tolist() == [*found.words]
    assert [word["text"] for word in found.to_dict()["sentences"][0]["words"]] == [*found.words]
    shown = re.sub(r"[*~]", "", found.to_text(width=200))
    assert "She went to the best shows. [She] [go] [good] [show]" in shown
    assert "[In brackets]: words of the tokenizer without a place" in shown
    page = re.sub("<[^>]*>", "", found.to_html())
    assert "She went to the best shows. [She] [go] [good] [show]" in page
    assert "[In brackets]" not in explain(of_lemmas, ["Bad!"])[0].to_text()


def test_words_without_a_place_count_in_summaries_and_are_in_no_rationale(of_lemmas):
    texts = ["She went to the best shows.", "He left. Bad shows."] * 2
    summary = sk_han.summarize(of_lemmas, texts, random_state=0)
    terms = [term for found in summary.to_dict()["classes"] for term in found["terms"]]
    written = {term["text"]: term["contexts"][0]["written"] for term in terms}
    assert written["good"] == "good"
    assert written["show"] == "show"
    rationales = [[(0, 21)], [(0, 2)]] * 2  # the first ends before "show"
    options = {"methods": ("random",), "random_state": 0}
    of_one = sk_han.faithfulness_report(of_lemmas, texts, rationales=rationales, **options)
    of_all = sk_han.faithfulness_report(
        of_lemmas, texts, rationales=[[(0, 3)], [(0, 2)]] * 2, **options
    )
    assert of_one.to_dict()["values"] == of_all.to_dict()["values"]


def test_overlapping_words_are_listed(of_lemmas):
    def search_mode(sentence):
        return ["中国", "科学", "学院", "中国科学院", "好"]

    classifier = tiny(tokenizer=HierarchicalTokenizer(word_tokenizer=search_mode))
    found = classifier.fit(["中国科学院好", "中国科学院好!"] * 8, LABELS).explain(["中国科学院好"])[
        0
    ]
    assert found.words == ("中国", "科学", "学院", "中国科学院", "好")
    shown = re.sub(r"[*~]", "", found.to_text(width=200))
    assert "中国科学院好 [中国] [科学] [学院] [中国科学院] [好]" in shown


# The parameters of explain, declared once.


EXPLAINING = (sk_han.explain, sk_han.explain_iter, sk_han.HANClassifier.explain, Scorer.explain)


OPTIONS = {"method": "shapley", "batch_size": None, "random_state": None}


@pytest.mark.parametrize("function", EXPLAINING)
def test_all_that_explain_show_the_same_options(function: Callable[..., Any]) -> None:
    shown = list(inspect.signature(function).parameters.values())[-len(OPTIONS) :]
    assert {parameter.name: parameter.default for parameter in shown} == OPTIONS
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in shown)


def test_options_that_are_not_given_have_their_defaults(fitted):
    assert fitted.explain(TEXTS[:2]) == fitted.explain(TEXTS[:2], **OPTIONS)


def test_an_unknown_parameter_is_named_with_those_that_exist(fitted):
    with pytest.raises(
        TypeError, match=r"argument 'methods'; the options .* are method, batch_size"
    ):
        fitted.explain(TEXTS, methods=7)

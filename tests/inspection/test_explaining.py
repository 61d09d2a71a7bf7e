from __future__ import annotations

import copy
import itertools
import operator
import re
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sk_han
from sk_han import (
    DocumentArray,
    HierarchicalTokenizer,
    explain,
    explain_classes,
    explain_iter,
)
from sk_han.serving import Scorer
from tests import tiny_models
from tests.html_page import Page

TEXTS = ["A good film. We laughed a lot!", "Bad, long and dull. We left."] * 8
LABELS = ["pos", "neg"] * 8

# Tiny networks have a small share of the scores, of which attention warns.
pytestmark = pytest.mark.filterwarnings("ignore:method='attention' shows the network alone")
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
def test_a_unique_index_names_the_documents(fitted, tmp_path, by_scorer):
    sk_han.save(fitted, tmp_path / "m.han")
    model = Scorer.load(tmp_path / "m.han") if by_scorer else fitted
    names = ["r7", "r8", "<b>", "r9"]
    found = model.explain(pd.Series(TEXTS[:4], index=names))
    assert found.to_frame()["document"].tolist() == found.ids == names
    mistakes = found.mistakes([{"pos": "neg", "neg": "pos"}[e.predicted] for e in found])
    assert mistakes.ids == [names[number] for number in mistakes.numbers]
    assert "Document <b>: predicted" in Page(found.to_html()).all_text
    assert "[<b>] " in found.to_text()
    assert model.explain(pd.Series(TEXTS[:4], index=[5, 5, 6, 7])).ids == [0, 1, 2, 3]


def test_words_are_in_order_within_their_sentences(fitted):
    for explanation in fitted.explain([*TEXTS, "", "One. two\n\n  three?! 四。五"]):
        words, of_word = explanation.word_spans, explanation.sentence_of_word
        for spans in (words, explanation.sentence_spans):
            assert (np.diff(spans.reshape(-1), prepend=0, append=len(explanation.text)) >= 0).all()
        assert np.unique(of_word).tolist() == list(range(len(explanation.sentence_spans)))
        assert (np.diff(of_word) >= 0).all()
        assert (words[:, 0] >= explanation.sentence_spans[of_word, 0]).all()
        assert (words[:, 1] <= explanation.sentence_spans[of_word, 1]).all()


@pytest.mark.parametrize("nothing", ["passthrough", None])
def test_a_passthrough_as_the_last_step_is_ignored(fitted, nothing):
    pipeline = Pipeline([("classifier", fitted), ("nothing", nothing)])
    assert explain(pipeline, TEXTS[:2]).to_json() == explain(fitted, TEXTS[:2]).to_json()


@pytest.mark.thorough
def test_attention_over_very_many_sentences_sums_to_one(fitted):
    explanation = fitted.explain(["Good. " * 400_000], method="attention")[0]
    assert explanation.sentence_attention.sum() == pytest.approx(1.0, abs=1e-5)


def test_unknown_words_are_marked(fitted):
    explanation = fitted.explain(["A good zyxxy."])[0]
    assert explanation.unknown.tolist() == [False, False, True, False]


def test_truncation_by_a_limit_is_reported():
    tokenizer = HierarchicalTokenizer(max_sentences=1)
    explanation = tiny(tokenizer=tokenizer).fit(TEXTS, LABELS).explain(TEXTS[:1])[0]
    assert explanation.truncated
    assert explanation.sentences == ("A good film.",)


def test_word_ids_are_explained_like_their_texts(fitted):
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


def test_a_tokenizer_in_a_pipeline_of_a_pipeline_is_found(fitted):
    outer = make_pipeline(make_pipeline(HierarchicalTokenizer()), tiny()).fit(TEXTS, LABELS)
    assert explain(outer, TEXTS) == explain(fitted, TEXTS)
    inner = make_pipeline(SHOUT, make_pipeline(HierarchicalTokenizer(), tiny())).fit(TEXTS, LABELS)
    assert explain(inner, TEXTS[:1])[0].text == TEXTS[0].upper()


# The target


@pytest.mark.parametrize(
    "container", [list, np.array, lambda labels: pd.DataFrame({"label": labels}), pa.array]
)
def test_targets_are_given_for_each_document_or_for_all(fitted, container):
    targets = ["neg", "pos", "neg"]
    found = fitted.explain(TEXTS[:3], target=container(targets), y_true=targets)
    assert [e.target for e in found] == found.y_true.tolist() == targets
    assert [e.target for e in fitted.explain(TEXTS[:2], target=pa.array(["neg"])[0])] == ["neg"] * 2


# One class against another

MIXED = ["It was a film. So so."] * 4


@pytest.fixture(scope="module")
def of_three():
    return tiny(max_epochs=3, lr=0.05).fit([*TEXTS, *MIXED], [*LABELS, *["so so"] * 4])


def logits_of(classifier, texts):
    return classifier.pool_.logits(classifier.tokenizer_.transform(texts))


def test_against_one_class_sentences_sum_to_a_difference_of_scores(of_three):
    z, nothing = logits_of(of_three, TEXTS), logits_of(of_three, [""])[0]
    for explanation, scores in zip(
        of_three.explain(TEXTS, target="pos", against="so so"), z, strict=True
    ):
        assert (explanation.target, explanation.against) == ("pos", "so so")
        change = (scores - nothing) @ [0, 1, -1]  # neg, pos, so so
        assert explanation.sentence_contributions.sum() == pytest.approx(change, abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_exchanging_target_and_contrast_reverses_the_signs(of_three, method):
    one = explain(of_three, TEXTS[:4], target="pos", against="neg", method=method, random_state=0)
    other = explain(of_three, TEXTS[:4], target="neg", against="pos", method=method, random_state=0)
    sign = 1 if method in ("attention", "random") else -1
    for e, reverse in zip(one, other, strict=True):
        for name in ("contributions", "sentence_contributions", "ngram_contributions"):
            expected = (-1 if name == "ngram_contributions" else sign) * getattr(reverse, name)
            np.testing.assert_allclose(getattr(e, name), expected, atol=1e-5)


def test_against_the_predicted_class_the_next_likely_one_is_explained(of_three):
    ranked = of_three.classes_[np.argsort(-of_three.predict_proba(TEXTS), axis=1)]
    for rank in (0, 1):
        found = of_three.explain(TEXTS, against=ranked[:, rank])
        assert [e.target for e in found] == ranked[:, 1 - rank].tolist()
        assert set(found.to_frame("word")["against"]) <= {*ranked[:, rank]}


# Batches


@pytest.mark.parametrize("method", [m for m in METHODS if m != "random"])
def test_explanations_do_not_depend_on_the_batch_size(fitted, method):
    texts = [*TEXTS[:3], "", "Zyxxy.", "Bad."]
    together, apart = (
        fitted.explain(texts, method=method, target="pos", batch_size=size) for size in (6, 1)
    )
    for one, other in zip(together, apart, strict=True):
        for name in ("contributions", "sentence_contributions", "word_attention", "probabilities"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-6)


def test_explain_iter_reads_texts_only_as_explanations_are_requested(fitted):
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
    gradients = [weight.grad for weight in network.parameters()]
    before = fitted.predict_proba(TEXTS)
    fitted.explain(TEXTS, method=method)
    np.testing.assert_array_equal(fitted.predict_proba(TEXTS), before)
    assert all(torch.equal(w, weights[name]) for name, w in network.state_dict().items())
    assert not any(module.training for module in network.modules())
    assert all(map(operator.is_, gradients, (w.grad for w in network.parameters())))
    assert network._projected is table
    assert torch.equal(torch.get_rng_state(), random)
    assert all(map(np.array_equal, np.random.get_state(), numpy_random))


@pytest.mark.parametrize("switch", [torch.no_grad, torch.inference_mode])
def test_a_caller_without_gradients_and_frozen_weights_give_the_same(fitted, switch):
    expected = fitted.explain(TEXTS)
    with switch():
        assert fitted.explain(TEXTS) == expected
    fitted.net_.module_.requires_grad_(False)
    assert fitted.explain(TEXTS) == expected
    fitted.net_.module_.requires_grad_(True)


# Each of several classes


def test_each_document_is_explained_for_each_class(of_three):
    explanations = explain_classes(of_three, TEXTS[:2])
    assert [e.target for e in explanations] == ["neg", "pos", "so so"] * 2
    assert explanations.numbers.tolist() == [0, 0, 0, 1, 1, 1]
    alone = explain(of_three, TEXTS[1:2], target="so so")[0]
    np.testing.assert_allclose(explanations[5].contributions, alone.contributions, atol=1e-6)


@pytest.mark.parametrize("container", [np.array, pd.Series, pd.Index, pl.Series, pa.array])
def test_classes_and_true_labels_come_in_any_container(of_three, container):
    labels = container(["so so", "neg"])
    explanations = explain_classes(of_three, TEXTS[:2], classes=labels, y_true=labels)
    assert [e.target for e in explanations] == ["so so", "neg"] * 2
    assert explanations.y_true.tolist() == ["so so", "so so", "neg", "neg"]


# Words of a custom tokenizer that do not stand in the text.


LEMMAS = {"went": "go", "best": "good", "shows": "show"}


def lemmas(sentence):
    words = re.findall(r"\w+", sentence)
    return [LEMMAS.get(word, word) for word in words if word not in ("to", "the")]


@pytest.fixture(scope="module")
def of_lemmas():
    texts = ["She went to the best shows. Good!", "He left. Bad shows."] * 8
    return tiny(tokenizer=HierarchicalTokenizer(word_tokenizer=lemmas)).fit(texts, LABELS)


def test_words_without_a_position_are_shown_as_their_token(of_lemmas):
    explanation = explain(of_lemmas, ["She went to the best shows."])[0]
    assert explanation.words == ("She", "go", "good", "show")
    assert explanation.word_spans.tolist() == 4 * [[0, 0]]


def test_words_without_a_position_count_in_summaries(of_lemmas):
    texts = ["She went to the best shows.", "He left. Bad shows."] * 2
    summary = sk_han.summarize(of_lemmas, texts, random_state=0)
    terms = [term for found in summary.to_dict()["classes"] for term in found["terms"]]
    written = {term["text"]: term["contexts"][0]["written"] for term in terms}
    assert written["good"] == "good"
    assert written["show"] == "show"


# The parameters of explain, which the others take as options.


def test_an_unknown_option_is_refused_with_the_list_of_options(fitted):
    for function in (sk_han.explain_iter, sk_han.HANClassifier.explain):
        with pytest.raises(TypeError, match=r"'metod'; the options .* are target, .*, method, "):
            function(fitted, TEXTS, metod="attention")

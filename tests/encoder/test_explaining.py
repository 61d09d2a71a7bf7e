"""Explanations of a model with a sentence encoder, which encode no set of sentences."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sk_han import SentenceEmbedder, explain, faithfulness_report, summarize
from tests.by_hand import by_all_orders
from tests.opinions import LABELS, TEXTS, UNSEEN, quick
from tests.tiny_models import with_model

SMALL_SHARE = "method='attention' shows the network alone"


@pytest.fixture(scope="module")
def pipeline(encoder):
    return make_pipeline(SentenceEmbedder(encoder), quick()).fit(TEXTS, LABELS)


@pytest.fixture(params=["fitted", "pipeline"])
def either(request):
    return request.getfixturevalue(request.param)


def log_odds(model, texts):
    proba = model.predict_proba(texts)
    return np.log(proba[:, 1]) - np.log(proba[:, 0])


def test_contributions_sum_to_log_odds_relative_to_an_empty_document(either):
    found = explain(either, [*UNSEEN[:9], ""], target="pos")
    sums = [each.sentence_contributions.sum() for each in found]
    expected = log_odds(either, [*UNSEEN[:9], ""]) - log_odds(either, [""])
    np.testing.assert_allclose(sums, expected, rtol=0, atol=1e-6)


def test_sentence_contributions_are_shapley_values_over_texts_with_sentences_removed(fitted):
    text = "The film is good. We saw a bad lamp. A song."
    sentences = ["The film is good.", "We saw a bad lamp.", "A song."]

    def score(kept):
        return log_odds(fitted, [" ".join(sentences[i] for i in sorted(kept))])[0]

    (found,) = fitted.explain([text], target="pos")
    np.testing.assert_allclose(
        found.sentence_contributions, by_all_orders(score, 3), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("method", ["shapley", "gradient_attention", "random"])
def test_only_single_sentences_are_encoded_and_each_once(either, encoder, method):
    encoder.calls.clear()
    explain(either, UNSEEN[:5], method=method, random_state=0)
    (call,) = encoder.calls
    assert len(call) == len(set(call))


def test_words_share_the_contribution_of_their_sentence_vector_evenly(fitted):
    alone = with_model(copy.copy(fitted), pool=fitted.pool_.without({"ngrams"}))
    for explanation in alone.explain(UNSEEN[:3], method="gradient_attention"):
        of_vectors, sentence = explanation.ngram_contributions, explanation.sentence_of_word
        means = np.bincount(sentence, of_vectors) / np.bincount(sentence)
        np.testing.assert_allclose(of_vectors, means[sentence], atol=1e-9)
        assert np.ptp(means) > 0


def test_a_summary_names_words_of_the_parts_that_read_words(either):
    assert {term.part for term in summarize(either, UNSEEN)["pos"].terms} <= {"network", "ngrams"}


def test_attention_warns_where_the_network_has_a_small_share(either):
    with pytest.warns(UserWarning, match=rf"{SMALL_SHARE}, whose share of the scores is \d+%"):
        found = explain(either, UNSEEN[:2], method="attention")
    assert np.mean([each.network_share for each in found]) < 0.2
    alone = quick(linear_ngrams=None).fit(TEXTS, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert explain(alone, UNSEEN[:2], method="attention")[0].network_share == 1


def test_a_faithfulness_report_encodes_only_changed_sentences(either, encoder):
    encoder.calls.clear()
    report = faithfulness_report(either, UNSEEN[:4], fractions=(0.5,), random_state=0)
    whole = set(encoder.calls[0])
    changed = [set(call) for call in encoder.calls if set(call) != whole]
    assert changed
    assert not any(sentences & whole for sentences in changed)
    assert report.to_frame()["comprehensiveness"].notna().all()


def test_documents_with_removed_words_score_like_their_texts(fitted):
    texts = ["Good film. Lamp.", "Bad tent. Song. Book."]
    ((documents, sources),) = fitted.model_.locate(texts, 2)
    kept = np.array([0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 1], dtype=bool)
    reduced = fitted.model_.keep_words(documents, sources, kept)
    expected = fitted.predict_proba(["film. Lamp.", "Bad . Book."])
    np.testing.assert_allclose(fitted.predict_proba(reduced), expected, rtol=0, atol=1e-6)


def test_words_of_sentence_vectors_cannot_be_removed(pipeline):
    documents = pipeline[0].transform(UNSEEN[:2])
    with pytest.raises(ValueError, match="words cannot be left out"):
        faithfulness_report(pipeline[-1], documents)

from functools import partial

import numpy as np
import pytest
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sk_han import (
    HierarchicalTokenizer,
    explain,
    report,
)
from tests import tiny_models

TEXTS = ["A good film. We laughed a lot!", "Bad, long and dull. We left.", "It was a film."] * 8
LABELS = ["pos", "neg", "so so"] * 8

pytestmark = pytest.mark.filterwarnings("ignore:method='attention' shows the network alone")

tiny = partial(tiny_models.tiny, max_epochs=2, linear_ngrams=None, embedding_init="random")


def same(found, expected):
    assert [e.target for e in found] == [e.target for e in expected]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.contributions, theirs.contributions, atol=1e-6)
        np.testing.assert_allclose(ours.probabilities, theirs.probabilities, atol=1e-6)


def linear(*names):
    return [(name, make_pipeline(TfidfVectorizer(), LogisticRegression())) for name in names]


def with_mistakes(estimator, texts):
    """Report with wrong labels, so that there are mistakes to explain."""
    predicted = estimator.predict(texts)
    labels = np.where(predicted == estimator.classes_[0], *estimator.classes_[[1, 0]])
    return report(estimator, texts, labels, baseline=None, n_mistakes=2)


def test_a_report_notes_why_mistakes_are_not_explained():
    members = [("tiny", tiny()), *linear("linear")]
    vote = VotingClassifier(members, voting="soft").fit(TEXTS, LABELS)
    found = with_mistakes(vote, TEXTS)
    assert len(found.mistakes) == 0 < len(found.mistake_rows)
    assert any("not explained" in note and "named_estimators_" in note for note in found.notes)


def test_words_are_read_through_a_frozen_tokenizer():
    tokenizer = HierarchicalTokenizer().fit(TEXTS)
    frozen = make_pipeline(FrozenEstimator(tokenizer), tiny()).fit(TEXTS, LABELS)
    found = explain(frozen, TEXTS[:2])
    same(found, explain(make_pipeline(tokenizer, frozen[-1]), TEXTS[:2]))
    assert found[0].text == TEXTS[0]


@pytest.mark.parametrize(
    "labels", [LABELS, [2 * [label == "pos"] for label in LABELS]], ids=["one", "several"]
)
def test_the_network_share_is_computed_from_centred_logits(labels):
    both = tiny(linear_ngrams=(1, 1)).fit(TEXTS, labels)
    documents = both.tokenizer_.transform(TEXTS[:3])
    others = both.pool_.without({"network"}).logits(documents)
    network = both.pool_.logits(documents) - others
    sizes = [
        np.abs(z - z.mean(axis=1, keepdims=True) * (labels is LABELS)).sum(axis=1)
        for z in (network, others)
    ]
    found = [e.network_share for e in explain(both, TEXTS[:3], method="attention")]
    np.testing.assert_allclose(found, sizes[0] / (sizes[0] + sizes[1]))
    assert 0 < min(found) <= max(found) < 1

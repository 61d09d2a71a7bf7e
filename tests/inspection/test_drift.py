"""Documents that are like those of a fit give no alarm, others give one with its numbers."""

import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline

import sk_han
from sk_han import HierarchicalTokenizer, drift
from tests.tiny_models import LABELS, TEXTS, tiny


def drawn(n):
    """Texts of words as frequent as in English, and four of five that name their class."""
    rng = np.random.RandomState(0)
    y = np.where(rng.random_sample(n) < 0.5, "pos", "neg")
    texts = []
    for label in y:
        words = [f"w{int(500 ** rng.random_sample())}" for _ in range(12)]
        other = "neg" if label == "pos" else "pos"
        words += [f"{label if rng.random_sample() < 0.8 else other}{rng.randint(5)}"] * 2
        texts.append(" ".join(words) + ".")
    return texts, y


X, Y = drawn(700)
GERMAN = 30 * ["Das Wetter ist heute wirklich nicht gut.", "Der Film war lang und schlecht."]


@pytest.fixture(scope="module")
def fitted():
    return tiny(max_epochs=8, lr=0.02, validation_fraction=0.3).fit(X[:200], Y[:200])


def names(found):
    return [one.name for one in found.comparisons if one.p_value < 0.05]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1 / 4, 0, 1 / 4, 0]),  # d; none; f; none: they are unknown without their document
        ({"min_df": 2}, [2 / 4, 0, 3 / 4, 1 / 3]),  # c, d; none; c, e, f; e
        ({"vocabulary": ["a", "b", "c"]}, [1 / 4, 0, 2 / 4, 1 / 3]),
    ],
)
def test_tokenizer_options_decide_which_words_are_unknown(options, expected):
    texts = ["a b c d", "a b b", "c e a f", "a b e"]
    tokenizer = HierarchicalTokenizer(**options)
    model = tiny(tokenizer=tokenizer, validation_fraction=None, linear_ngrams=None)
    unknown = model.fit(texts, [0, 1, 0, 1]).model_.reference.unknown
    np.testing.assert_allclose(unknown, [4, np.mean(expected), np.var(expected)], atol=1e-12)


def test_similar_documents_give_few_alarms(fitted):
    rng, others = np.random.RandomState(0), X[200:]
    batches = [[others[i] for i in rng.choice(500, 100, replace=False)] for _ in range(60)]
    assert np.mean([drift(fitted, batch).alarm for batch in batches]) <= 0.1


def test_another_language_raises_an_alarm_with_figures(fitted):
    found = drift(fitted, GERMAN)
    words = found.comparisons[0]
    assert found.alarm
    assert "unknown words" in names(found)
    assert words.lower <= words.value <= words.upper
    assert words.value > 0.7 > words.expected
    assert words.p_value < 0.001
    assert "Label some of them and fit again" in str(found)
    assert found.text.startswith("60 documents are not like those of the fit in unknown words")
    assert json.loads(found.to_json())["comparisons"][0]["name"] == "unknown words"


def test_novelty_is_compared_by_ranks_among_held_out_documents(fitted):
    like, german = (drift(fitted, texts).comparisons[2] for texts in (X[200:], GERMAN))
    assert like.name == german.name == "novelty"
    assert like.expected == 0.5 == pytest.approx(like.value, abs=0.15)
    assert german.value > 0.9
    assert german.p_value < 0.001 < like.p_value


def test_another_class_mix_is_reported_as_such(fitted):
    texts = [text for text, label in zip(X[200:], Y[200:], strict=True) if label == "pos"]
    found = drift(sk_han.with_priors(fitted, {"neg": 0.1, "pos": 0.9}), texts[:200])
    assert names(found)[-1].startswith("predictions of ")
    assert "with_priors corrects" in str(found)
    assert found.to_dict() == drift(fitted, texts[:200]).to_dict()


def test_without_held_out_documents_unknown_words_alone_are_compared():
    model = tiny(validation_fraction=None).fit(TEXTS, LABELS)
    found = drift(model, GERMAN)
    assert names(found) == ["unknown words"]
    assert "no documents were held out" in found.text


def test_few_documents_unfitted_models_and_portions_are_refused(fitted):
    with pytest.raises(ValueError, match=r"29 documents are too few .* at least 30"):
        drift(fitted, X[:29])
    with pytest.raises(NotFittedError):
        drift(tiny(), X)
    portions = tiny().partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
    with pytest.raises(ValueError, match="partial_fit sees portions"):
        drift(portions, X)


def test_a_warm_start_keeps_the_reference_rate_of_unknown_words():
    model = tiny(warm_start=True).fit(TEXTS, LABELS)
    before = model.model_.reference.unknown
    np.testing.assert_array_equal(model.fit(TEXTS[:6], LABELS[:6]).model_.reference.unknown, before)


def test_steps_that_pass_documents_through_and_blank_texts_change_nothing(fitted):
    through = Pipeline([("nothing", "passthrough"), ("classifier", fitted)])
    expected = drift(fitted, X[200:]).to_dict()
    assert drift(through, X[200:]).to_dict() == expected
    assert drift(fitted, [*X[200:], *[" "] * 200]).to_dict() == expected


def test_a_pipeline_and_a_classifier_count_the_same_unknown_words():
    tokenizer, classifier = HierarchicalTokenizer(min_df=2), tiny()
    inside = tiny(tokenizer=tokenizer).fit(X[:200], Y[:200]).model_.reference
    before = make_pipeline(tokenizer, classifier).fit(X[:200], Y[:200])[-1].model_.reference
    np.testing.assert_array_equal(before.unknown, inside.unknown)

"""The p-value that a document is like the training documents."""

import pickle

import numpy as np
import pandas as pd
import pytest

import sk_han
from sk_han import HANRegressor, drift, novelty
from sk_han._documents import DocumentArray
from sk_han._model.novelty import Novelty
from sk_han.serving import Scorer
from tests.encoders_of_sentences import HashEncoder
from tests.tiny_models import LABELS, TEXTS, tiny

GERMAN = ["Das Wetter ist heute wirklich nicht gut.", "Der Film war lang und schlecht."]


def drawn(n, seed=0, rare=3):
    """Texts of frequent words, of a word that names their class, and of rare words of their own."""
    rng = np.random.RandomState(seed)
    y = np.where(rng.random_sample(n) < 0.5, "pos", "neg")
    texts = []
    for i, label in enumerate(y):
        words = [f"w{int(200 ** rng.random_sample())}" for _ in range(9)]
        words += [f"{label}{rng.randint(5)}", *(f"rare{seed}x{i}x{j}" for j in range(rare))]
        texts.append(" ".join(rng.permutation(words)) + ".")
    return texts, y


X, Y = drawn(200)
NEW, _ = drawn(500, seed=1)


def fitted(estimator=None, y=Y, **options):
    return (estimator or tiny(validation_fraction=0.3, max_epochs=4, lr=0.02)).fit(X, y, **options)


@pytest.fixture(scope="module")
def classifier():
    return fitted()


def test_similar_documents_have_uniform_p_values(classifier):
    p = novelty(classifier, NEW)
    # 60 calibration documents: the standard deviation of a share of one half is 0.065.
    assert p.shape == (500,)
    assert 0 <= p.min() < p.max() <= 1
    assert np.mean(p < 0.5) == pytest.approx(0.5, abs=0.25)
    assert np.mean(p < 0.1) < 0.25


def excerpts(texts):
    """Give four excerpts of each four texts together, which are of one author."""
    joined = [" ".join(texts[i : i + 4]).split() for i in range(0, len(texts), 4)]
    rng = np.random.RandomState(0)
    return [" ".join(rng.choice(words, 30, replace=False)) for words in joined for _ in range(4)]


def test_documents_of_new_groups_are_like_held_out_groups():
    model = tiny(validation_fraction=0.3, max_epochs=4, lr=0.02)
    model.fit(excerpts(X), Y, groups=np.arange(200) // 4)
    assert np.mean(novelty(model, excerpts(NEW)) < 0.1) < 0.4
    unknown = drift(model, excerpts(NEW)).comparisons[0]
    assert unknown.name == "unknown words"
    assert unknown.value == pytest.approx(unknown.expected, abs=0.05)


def test_another_language_is_novel(classifier):
    assert novelty(classifier, GERMAN).max() < 0.05


def test_a_p_value_depends_on_its_document_alone(classifier):
    together = novelty(classifier, NEW[:7])
    alone = [novelty(classifier, [text])[0] for text in NEW[:7]]
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_priors_do_not_change_novelty(classifier):
    other = sk_han.with_priors(classifier, {"neg": 0.1, "pos": 0.9})
    np.testing.assert_allclose(novelty(other, NEW[:50]), novelty(classifier, NEW[:50]), atol=1e-6)


def test_scores_are_ranked_among_calibration_scores_with_random_ties():
    scores = np.repeat([0.0, 1.0, 2.0], [3, 5, 11])
    calibrated = Novelty(scores, np.ones(3), np.zeros(1))
    documents = DocumentArray.from_nested([[[i]] for i in range(2, 402)])
    for score, low, high in ((-1, 19, 20), (0, 16, 20), (0.5, 16, 17), (1, 11, 17), (3, 0, 1)):
        p = 20 * calibrated.p_values(np.full(400, score), documents)
        assert low <= p.min() < low + 0.1
        assert high - 0.1 < p.max() <= high
        assert p.mean() == pytest.approx((low + high) / 2, abs=0.1 * (high - low))


def test_terms_are_standardized_and_short_documents_vary_more():
    calibrated = Novelty(np.zeros(19), np.array([2.0, 0.3, 0.1]), np.array([0.2]))
    documents = DocumentArray.from_nested([[[2]], [[2] * 4], []])
    terms = np.array([[1.0, 0, 0], [0.7, 0.7, 0.2], [0, 0.2, 0]])
    spread = np.sqrt(0.09 + 0.16 / np.array([1, 4]))
    expected = [0.5 + 0.5 / spread[0], 0.5 / spread[1] + 1, 0]
    np.testing.assert_allclose(calibrated.score(terms, documents), expected, atol=1e-12)


def stars():
    return HANRegressor(
        embedding_dim=7, word_hidden=5, sentence_hidden=3, max_epochs=1, validation_fraction=0.3
    )


def of_table():
    return tiny(text_column="text", validation_fraction=0.3)


FITTED = {
    "several labels": lambda: fitted(y=np.column_stack([Y == "pos", np.arange(200) % 3 == 0]) * 1),
    "numbers": lambda: fitted(stars(), np.arange(200.0) * (Y == "pos")),
    "encoder": lambda: fitted(tiny(encoder=HashEncoder(), validation_fraction=0.3)),
    "validation documents": lambda: fitted(X_val=NEW[:60], y_val=Y[:60]),
    "table": lambda: of_table().fit(pd.DataFrame({"text": X, "price": np.arange(200) % 9}), Y),
}


@pytest.mark.parametrize("kind", FITTED)
def test_saved_models_of_every_kind_give_the_same_p_values(kind, tmp_path):
    model, encoder = FITTED[kind](), HashEncoder() if kind == "encoder" else None
    texts = [*NEW[:40], *GERMAN, ""]
    given = pd.DataFrame({"text": texts, "price": 1}) if kind == "table" else texts
    expected = novelty(model, given)
    assert np.all((expected >= 0) & (expected <= 1))
    assert expected[:40].mean() > 0.2 > expected[40:42].max()
    sk_han.save(model, tmp_path / "model.han")
    scorer = Scorer.load(tmp_path / "model.han", encoder=encoder)
    loaded = sk_han.load(tmp_path / "model.han", encoder=encoder)
    for other in (scorer, loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_allclose(novelty(other, given), expected, atol=1e-6)
    found = scorer.predict_frame(given, novelty=True)
    np.testing.assert_allclose(found["novelty_p_value"], expected, atol=1e-6)
    none = scorer.predict_frame(given[:0], novelty=True)
    assert none.dtypes.tolist() == found.dtypes.tolist()


def test_without_calibration_p_values_are_nan_with_a_warning():
    few = tiny().fit(TEXTS, LABELS)
    none = tiny(validation_fraction=None).fit(X, Y)
    portions = tiny().partial_fit(X, Y, classes=["neg", "pos"])
    expected = "need 19 documents that no part of the model has learnt"
    with pytest.warns(UserWarning, match=expected):
        assert np.isnan(novelty(few, NEW[:2])).all()
    with pytest.warns(UserWarning, match=expected):  # once for each line
        assert np.isnan(novelty(none, NEW[:2])).all()
    with pytest.warns(UserWarning, match=expected):
        assert np.isnan(novelty(portions, NEW[:2])).all()


def test_a_tokenizer_is_refused():
    with pytest.raises(TypeError, match="novelty needs a HANClassifier"):
        novelty(sk_han.HierarchicalTokenizer().fit(X), NEW)

"""Groups of classes as answers: which node is chosen, by hand, and what is promised of it."""

import pickle

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import cross_val_score

from sk_han import HANClassifier, coarser, report, save
from sk_han.datasets import make_reviews
from sk_han.serving import Scorer

CLASSES = ["art.film", "art.music", "sport"]
TREE = {"art.film": ["art"], "art.music": ["art"], "sport": []}


class Known(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are its input."""

    def __init__(self, classes=CLASSES):
        self.classes = classes
        self.classes_ = np.array(classes)

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return np.asarray(X)

    def predict(self, X):
        return self.classes_[np.argmax(X, axis=1)]


def drawn(n, random, wrong):
    """Draw sure probabilities, and labels of which a share is wrong, in another group."""
    k = random.randint(3, size=n)
    p = np.eye(3)[k] * 0.6 + 0.4 / 3
    y = np.array(CLASSES)[k]
    y[random.random_sample(n) < wrong] = "weather"  # which no node has
    return p, y


def exact(n=1000, **options):
    """Choose by documents of which all are right."""
    p, y = drawn(n, np.random.RandomState(0), 0)
    return coarser(Known(), TREE, p, y, **options)


@pytest.mark.parametrize("tree", [TREE, "."])
def test_a_node_has_the_summed_probability_of_its_classes(tree):
    coarse = coarser(Known(), tree, *drawn(200, np.random.RandomState(0), 0))
    assert coarse.nodes_.tolist() == ["art", "sport", "art.film", "art.music"]
    assert coarse.depths_.tolist() == [1, 1, 2, 2]
    p = coarse.predict_proba([[0.5, 0.3, 0.2], [0, 0.1, 0.9]])
    np.testing.assert_allclose(p, [[0.8, 0.2, 0.5, 0.3], [0.1, 0.9, 0, 0.1]])


def test_the_answer_has_the_highest_expected_reward():
    p = [[0.5, 0.45, 0.05], [0.9, 0.05, 0.05], [0.1, 0.1, 0.8], [0.34, 0.33, 0.33]]
    coarse = exact()
    # A group of 2 of 3 classes has a reward of 1 - log(2) / log(3) = 0.369. At a threshold of 0.7
    # the root is worth 0.7, the group 0.95 * 0.811 = 0.770 and its class 0.5 in the first document,
    # 0.95 * 0.811 and 0.9 in the second; 0.2 * 0.811 and 0.8 in the third; 0.67 * 0.811 = 0.543 in
    # the last.
    coarse.selection_ = _with_threshold(coarse.selection_, 0.7)
    assert coarse.predict(p).tolist() == ["art", "art.film", "sport", None]
    coarse.selection_ = _with_threshold(coarse.selection_, np.inf)
    assert coarse.predict(p).tolist() == [None] * 4
    coarse.selection_ = _with_threshold(coarse.selection_, 0.0)
    assert None not in coarse.predict(p)


def _with_threshold(selection, threshold):
    from dataclasses import replace

    return replace(selection, threshold=threshold)


@pytest.mark.parametrize("max_error", [0.05, 0.1])
def test_the_guarantee_fails_in_at_most_5_percent_of_draws(max_error):
    random, draws = np.random.RandomState(0), 300
    # All answers have a true error just above max_error, so that each one given breaks it.
    broken = sum(
        not np.isinf(
            coarser(
                Known(), TREE, *drawn(300, random, 1.0001 * max_error), max_error=max_error
            ).selection_.threshold
        )
        for _ in range(draws)
    )
    assert broken <= binom.isf(1e-4, draws, 0.05)


def test_coverage_and_error_agree_with_the_documents():
    random = np.random.RandomState(0)
    p, y = random.dirichlet([0.4] * 3, 2000), None
    y = np.array([random.choice(CLASSES, p=row) for row in p])
    coarse = coarser(Known(), ".", p, y, max_error=0.1)
    answers = coarse.predict(p)
    given = answers != np.array(None)
    is_right = [
        f"{label}.".startswith(f"{answer}.") for answer, label in zip(answers, y, strict=True)
    ]
    assert {"art", "art.film", "sport", None} <= {*answers.tolist()}
    assert coarse.selection_.coverage == pytest.approx(given.mean())
    assert coarse.selection_.error == pytest.approx(1 - np.mean(np.array(is_right)[given]))
    assert coarse.selection_.upper_bound <= 0.1
    assert "Answer with a class or a group, at a threshold of" in coarse.selection_.to_text(
        width=99
    )


def test_a_class_that_is_also_a_group_is_one_node():
    p, y = np.array([[0.6, 0.4, 0]] * 200), np.array(["art", "art.film"] * 100)
    coarse = coarser(Known(["art", "art.film", "sport"]), ".", p, y)
    assert coarse.nodes_.tolist() == ["art", "sport", "art.film"]
    assert coarse.predict(p[:1]).tolist() == ["art"]  # also right of films
    np.testing.assert_allclose(coarse.predict_proba(p[:1]), [[1, 0, 0.4]])


def test_a_group_of_all_classes_is_the_root():
    tree = {name: ["all", *groups] for name, groups in TREE.items()}
    coarse = coarser(Known(), tree, *drawn(200, np.random.RandomState(0), 0))
    assert coarse.nodes_.tolist() == ["art", "sport", "art.film", "art.music"]
    assert coarse.depths_.tolist() == [1, 1, 2, 2]


def test_report_accepts_the_classifier_of_one_level():
    random = np.random.RandomState(0)
    p = random.dirichlet([0.4] * 3, 300)
    y = np.array([random.choice(CLASSES, p=row) for row in p])
    coarse = coarser(Known(), TREE, p, y, max_error=0.3)
    level = coarse.at_depth(1)
    assert level.classes_.tolist() == ["art", "sport"]
    assert level.group(["art.music", "sport", "weather"]).tolist() == ["art", "sport", "weather"]
    np.testing.assert_allclose(level.predict_proba(p)[:, 0], p[:, 0] + p[:, 1])
    found = report(level, p, level.group(y), baseline=None)
    assert found.right.mean() == pytest.approx(np.mean(level.predict(p) == level.group(y)))
    assert cross_val_score(level, p, level.group(y), cv=2).mean() == pytest.approx(
        found.right.mean(), abs=0.01
    )
    assert coarse.at_depth(2).classes_.tolist() == sorted(CLASSES)
    with pytest.raises(ValueError, match="between 1 and 2"):
        coarse.at_depth(3)


def test_a_blank_text_is_answered_with_none(tmp_path):
    texts, labels = make_reviews(400, n_classes=3, random_state=0)
    model = HANClassifier(
        embedding_dim=8, word_hidden=4, sentence_hidden=4, max_epochs=1, device="cpu"
    ).fit(texts[:100], labels[:100])
    groups = {label: [] if label == "neutral" else ["clear"] for label in model.classes_.tolist()}
    coarse = coarser(model, groups, texts[100:], labels[100:], max_error=0.9)
    answers = coarse.predict([*texts[100:110], " "])
    assert answers[-1] is None
    assert coarse.selection_.n_documents == 300
    save(model, tmp_path / "model.han")
    scorer = Scorer.load(tmp_path / "model.han")
    served = coarser(scorer, groups, texts[100:], labels[100:], max_error=0.9)
    assert served.predict([*texts[100:110], " "]).tolist() == answers.tolist()
    again = pickle.loads(pickle.dumps(coarse))
    assert again.predict(texts[100:110]).tolist() == answers[:-1].tolist()

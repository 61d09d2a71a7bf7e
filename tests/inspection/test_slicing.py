"""Slices with more mistakes are found where they are, by chance rarely, and near copies, too."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact
from sklearn.base import BaseEstimator, ClassifierMixin

from sk_han import report
from tests.tiny_models import LABELS, TEXTS, tiny

N = 400
PLANTED = np.arange(40)  # rows
FILLERS = np.array([f"w{i}" for i in range(60)])


class FirstWord(ClassifierMixin, BaseEstimator):
    """Predicts the first word of a text, which is a class."""

    classes_ = np.array(["a", "b"])

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return np.array([text[0] for text in X])

    def predict_proba(self, X):
        return np.where(self.predict(X)[:, None] == self.classes_, 0.75, 0.25)


def texts(rng=None):
    """Make texts that begin with a or b in turn, and go on with seven words drawn."""
    drawn = FILLERS[(rng or np.random.RandomState(0)).randint(len(FILLERS), size=(N, 7))]
    return [f"{'ab'[i % 2]} {' '.join(words)}" for i, words in enumerate(drawn)]


def with_mistakes(predicted, rows=PLANTED, share=0.9):
    """Return labels of which a tenth is wrong, and of rows this share."""
    wrong = np.isin(np.arange(len(predicted)) % 20, (0, 11))  # even and odd rows
    wrong[rows] = np.arange(len(rows)) < share * len(rows)
    return np.where(wrong, np.where(predicted == "a", "b", "a"), predicted)


def of_texts(X, y=None, **how):
    y = with_mistakes(FirstWord().predict(X)) if y is None else y
    return report(FirstWord(), X, y, baseline=None, n_mistakes=1, **how)


def names(found, kind):
    return [name for one in found.slices if one.kind == kind for name in (one.name, *one.also)]


def put(X, words, rows=PLANTED):
    """Put words in place of the last ones, so that no length changes."""
    n = len(words.split())
    return [
        f"{' '.join(text.split()[:-n])} {words}" if i in {*rows} else text
        for i, text in enumerate(X)
    ]


def test_a_missed_label_of_probability_zero_is_a_mistake():
    true = np.zeros((N, 2), dtype=bool)
    true[PLANTED, 1] = True

    class Never(FirstWord):
        classes_ = np.arange(2)

        def predict(self, X):
            return np.zeros((len(X), 2), dtype=int)

        def predict_proba(self, X):
            return np.zeros((len(X), 2))

    found = report(Never(), put(texts(), "zeta"), true.astype(int), baseline=None)
    (slice_of_word,) = [one for one in found.slices if "zeta" in (one.name, *one.also)]
    assert slice_of_word.error == 1


class TestKinds:
    def test_slices_of_a_word_and_a_word_pair_are_found(self):
        X = put(put(texts(), "zinc", range(40, 80)), "Zorkal")
        assert names(of_texts(X), "word") == ["zorkal"]
        # Of two frequent words, only where they follow each other.
        X = [text.replace(" w1 ", " w2 ") for text in texts()]
        X = put(put(X, "w2 and w1", range(40, 200)), "w1 w2")
        assert names(of_texts(X), "word")[0] == "w1 w2"

    def test_slices_of_a_document_length_are_found(self):
        longest = of_texts([text + " w1 w2 w3 w4" * (i < 40) for i, text in enumerate(texts())])
        assert [(one.kind, one.name) for one in longest.slices if one.kind == "length"] == [
            ("length", "12")
        ]
        lengths = np.where(np.arange(N) < 40, 3 + np.arange(N) % 4, 9)
        X = [" ".join(text.split()[:n]) for text, n in zip(texts(), lengths, strict=True)]
        assert names(of_texts(X), "length")[0] == "3 to 6"

    def test_a_slice_of_a_group_has_the_groups_name(self):
        groups = np.where(np.arange(N) < 40, "Ann", [f"author {i % 9}" for i in range(N)])
        assert names(of_texts(texts(), groups=groups), "group") == ["Ann"]

    def test_a_slice_of_a_true_label_is_found(self):
        X = [text if i % 4 == 0 else f"b{text[1:]}" for i, text in enumerate(texts())]
        predicted = FirstWord().predict(X)
        y = with_mistakes(predicted, np.flatnonzero(predicted == "b"), 0.2)
        assert names(of_texts(X, y), "label") == ["a"]  # which is taken for b

    def test_a_slice_of_one_of_several_labels_is_found(self):
        true = np.random.RandomState(0).random_sample((N, 3)) < 0.3
        predicted = true.copy()
        predicted[true[:, 1], 0] ^= True

        class Labels(FirstWord):
            classes_ = np.arange(3)

            def predict(self, X):
                return predicted

            def predict_proba(self, X):
                return 0.25 + 0.5 * predicted

        found = report(Labels(), texts(), pd.DataFrame(true, columns=list("xyz")), baseline=None)
        assert names(found, "label") == ["y"]
        assert found.slices[0].error == 1


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    texts = [TEXTS[i % len(TEXTS)] for i in range(N)]
    rng = np.random.RandomState(0)
    return pd.DataFrame(
        {
            "text": texts,
            "shop": rng.permutation([f"s{i % 10}" for i in range(N)]),
            "price": rng.permutation(np.arange(N) / 4),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.permutation(N), "D"),
            "unread": rng.permutation([f"u{i % 10}" for i in range(N)]),
            "list": [[1]] * N,
        }
    )


class TestColumns:
    @pytest.mark.parametrize(
        ("column", "rows", "name"),
        [
            ("shop", lambda values: values == "s3", "shop = s3"),
            ("unread", lambda values: values == "u3", "unread = u3"),
            ("price", lambda values: values > 90, "price = 90 to 99.75"),
            ("day", lambda values: values < "2024-02-10", "day = 2024-01-01 to 2024-02-09"),
        ],
    )
    def test_slices_are_found_in_used_and_unused_columns(self, table, column, rows, name):
        model = tiny(text_column="text", columns=["shop", "price", "day"], max_epochs=4)
        model.fit(table, np.resize(np.where(LABELS == "pos", "a", "b"), N))
        y = with_mistakes(model.predict(table), np.flatnonzero(rows(table[column])))
        found = report(model, table, y, baseline=None, n_mistakes=1)
        assert name in names(found, "column")

    def test_slices_use_words_and_not_values_of_text_columns(self, table):
        model = tiny(text_column=["text", "shop"], columns=["unread"], max_epochs=4)
        model.fit(table, np.resize(np.where(LABELS == "pos", "a", "b"), N))
        y = with_mistakes(model.predict(table), np.flatnonzero(table["shop"] == "s3"))
        found = report(model, table, y, baseline=None, n_mistakes=1)
        assert "s3" in names(found, "word")
        assert "shop = s3" not in names(found, "column")

    def test_missing_values_are_a_slice(self, table):
        part = table[["text", "shop"]].copy()
        part.loc[PLANTED, "shop"] = None
        model = tiny(text_column="text", max_epochs=4)
        model.fit(part, np.resize(np.where(LABELS == "pos", "a", "b"), N))
        found = report(model, part, with_mistakes(model.predict(part)), baseline=None)
        assert "shop = missing" in names(found, "column")


class TestNumbers:
    def test_a_slice_with_more_large_errors_is_found(self):
        class Zero(FirstWord):
            _estimator_type = "regressor"

            def __sklearn_tags__(self):
                tags = super().__sklearn_tags__()
                tags.estimator_type = "regressor"
                return tags

            def predict(self, X):
                return np.zeros(len(X))

        y = np.random.RandomState(0).standard_normal(N)
        y[PLANTED] *= 5
        found = report(Zero(), put(texts(), "zorkal"), y, baseline=None, n_mistakes=1)
        (one,) = (one for one in found.slices if one.name == "zorkal")
        is_far = np.abs(y) > np.quantile(np.abs(y), 0.75)
        assert (one.n_documents, one.error) == (40, is_far[PLANTED].mean())
        assert list(one.examples) == np.argsort(-np.abs(y))[:3].tolist()
        assert found.to_dict()["slices"][0]["name"] == found.slices[0].name


class TestFigures:
    def test_figures_of_a_slice_match_its_documents(self):
        X = put(texts(), "zorkal")
        found = of_texts(X)
        (one,) = (one for one in found.slices if one.name == "zorkal")
        assert (one.n_documents, one.error) == (40, 0.9)
        assert one.low < 0.9 < one.high
        assert {*one.examples} <= {*np.flatnonzero(~found.right[:40])}
        assert f"tested: {found.n_slices}" not in found.to_text()
        assert "zorkal" in found.to_text()
        assert f"corrected for the {found.n_slices:,} slices" in found.to_html()

    def test_p_values_are_fishers_test_corrected_by_holm(self):
        groups = np.arange(N) // 40
        y = with_mistakes(FirstWord().predict(texts()), share=0.35)
        found = report(
            FirstWord(), ["a" if y0 == "a" else "b" for y0 in FirstWord().predict(texts())], y,
            groups=groups, baseline=None, n_mistakes=1,
        )  # fmt: skip
        (one,) = found.slices
        n_wrong = int((~found.right).sum())
        table = [[14, 26], [n_wrong - 14, N - 40 - (n_wrong - 14)]]
        p = fisher_exact(table, alternative="greater").pvalue
        # Of ten groups this one is the first; the other kinds are labels, lengths and words.
        assert (one.kind, one.name) == ("group", "0")
        assert one.p_value == pytest.approx(10 * p * 3)

    def test_slices_of_the_same_documents_are_merged(self):
        found = of_texts(put(texts(), "alpha beta gamma"))
        (one,) = (one for one in found.slices if one.kind == "word")
        assert len({one.name, *one.also}) == 3

    def test_an_authors_word_gives_no_slice_beyond_that_author(self):
        groups = np.where(np.arange(N) < 40, 0, 1 + np.arange(N) % 60)
        X = put(texts(), "zorkal")
        assert "zorkal" in names(of_texts(X), "word")
        assert names(of_texts(X, groups=groups), "word") == []

    def test_mistakes_at_random_are_rarely_a_slice(self):
        rng = np.random.RandomState(0)
        n_found = 0
        for _ in range(100):
            X = texts(rng)
            predicted = FirstWord().predict(X)
            y = np.where(
                rng.random_sample(N) < 0.3, np.where(predicted == "a", "b", "a"), predicted
            )
            n_found += bool(of_texts(X, y).slices)
        assert n_found <= 6


@pytest.fixture(scope="module")
def training():
    rng = np.random.RandomState(1)
    return [" ".join(f"t{n}" for n in rng.randint(500, size=40)) for _ in range(30)]


class TestNearCopies:
    def listed(self, X, training):
        found = report(
            FirstWord(), X, ["a"] * len(X), X_train=training, y_train=["a", "b"] * 15, baseline=None
        )
        return found.trained_on.tolist()

    def test_texts_with_changed_words_are_found(self, training):
        words = training[3].split()
        changed = [
            " ".join("a b"[n % 2] if i % n == 0 else w for i, w in enumerate(words))
            for n in (10, 2)
        ]
        half = " ".join([*words[:30], *["a", "b", "c"] * 5])
        less = " ".join([*words[:18], *[f"a{i}" for i in range(22)]])
        X = ["a " + text for text in (*changed, half, less, training[4].upper() + "!")]
        assert self.listed(X, training) == [0, 2, 4]

    def test_a_longer_training_text_has_a_copy_too(self, training):
        joined = [" ".join(training)] * 30
        assert self.listed(["a " + training[7]], joined) == [0]

    def test_runs_of_several_training_texts_do_not_add_up(self, training):
        X = ["a " + " ".join(" ".join(text.split()[:12]) for text in training[:5])]
        assert self.listed(X, training) == []

    def test_short_texts_must_have_the_same_words(self, training):
        short = [" ".join(text.split()[:20]) for text in training]
        X = ["a" + short[0], short[1]]
        assert self.listed(X, short) == [1]

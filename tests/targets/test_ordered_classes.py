"""Ordered classes: what the median changes at every door."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score, mean_absolute_error

import sk_han
import sk_han.cli
from sk_han import ExplanationList, explain, report, summarize
from sk_han.serving import Scorer
from tests.reports import made
from tests.tiny_models import LABELS, TEXTS, UNSEEN, tiny

NAMES = ["low", "mid", "high"]
# Each text has each class once: probabilities are near a third, and the middle class the median.
NUMBERS = np.array([(i + i // 6) % 3 for i in range(len(TEXTS))])
IN_ORDER = pd.Categorical([NAMES[i] for i in NUMBERS], NAMES, ordered=True)


@pytest.fixture(scope="module")
def fitted():
    return tiny(ordered=True).fit(TEXTS, IN_ORDER)


@pytest.fixture(scope="module")
def saved(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "ordered.han"
    sk_han.save(fitted, path)
    return path


def by_hand(p):
    """Return the first class whose cumulative probability reaches a half, document by document."""
    return [next(k for k in range(len(row)) if row[: k + 1].sum() >= row.sum() / 2) for row in p]


class TestDecisions:
    def test_ordered_classes_do_not_change_the_fit(self):
        """Also the epoch that is kept."""
        params = {"max_epochs": 4, "validation_fraction": 0.3, "lr": 0.05}
        y = np.random.RandomState(0).randint(3, size=len(TEXTS))
        ordered = tiny(ordered=True, **params).fit(TEXTS, y)
        other = tiny(**params).fit(TEXTS, y)
        np.testing.assert_array_equal(ordered.predict_proba(TEXTS), other.predict_proba(TEXTS))
        assert ordered.best_epoch_ == other.best_epoch_
        assert (ordered.predict(TEXTS) != other.predict(TEXTS)).any()

    def test_every_interface_predicts_the_median_class(self, fitted, saved):
        p = fitted.predict_proba(UNSEEN)
        expected = [NAMES[i] for i in by_hand(p)]
        assert expected != [NAMES[i] for i in p.argmax(axis=1)]
        scorer = Scorer.load(saved)
        for model in (fitted, sk_han.load(saved), scorer):
            assert model.classes_.tolist() == NAMES
            assert model.predict(UNSEEN).tolist() == expected
        assert scorer.predict_frame(UNSEEN)["prediction"].tolist() == expected
        assert [e.predicted for e in explain(fitted, UNSEEN)] == expected
        assert [e.target for e in scorer.explain(UNSEEN)] == expected
        assert scorer.target.values.tolist() == [0, 1, 2]
        counts = {c.label: c.n_predicted for c in summarize(fitted, UNSEEN, k=1).classes}
        assert counts == {name: expected.count(name) for name in NAMES}

    def test_with_against_the_target_is_the_median_of_other_classes(self, fitted):
        found = explain(fitted, UNSEEN, against="mid")
        p = fitted.predict_proba(UNSEEN)[:, [0, 2]]
        assert [e.target for e in found] == [["low", "high"][i] for i in by_hand(p)]


Y = (*(1, 4, 1, 9, 9, 4) * 2, 4)
STARS = np.array([1, 4, 9])


def report_of(t, p, values, **changes):
    nothing = dict.fromkeys(("n_words", "texts", "trained_on", "baseline"))
    changes |= {"mistakes": ExplanationList(), "mistake_rows": [], "suspects": [], "duplicates": ()}
    changes |= {"predicted": np.array(by_hand(p))}
    return made(**nothing, **changes, labels=values, values=values, targets=t, probabilities=p)


@pytest.fixture(scope="module")
def model():
    return tiny(ordered=True).fit(TEXTS, STARS[NUMBERS])


@pytest.fixture(scope="module")
def found():
    rng = np.random.RandomState(0)
    return report_of(rng.randint(3, size=31), rng.dirichlet([1, 1, 1], size=31), STARS)


class TestReport:
    def test_distance_measures_match_scikit_learn(self, found):
        t, given = found.targets, np.array(by_hand(found.probabilities))
        scores = found.scores["model"]
        error = mean_absolute_error(STARS[t], STARS[given])
        assert scores["mean_absolute_error"] == pytest.approx(error)
        kappa = cohen_kappa_score(t, given, weights="quadratic")
        assert scores["quadratic_kappa"] == pytest.approx(kappa)
        steps = np.abs(t - given)
        assert scores["within_one_step"] == np.mean(steps <= 1)
        assert found.by_distance.tolist() == np.bincount(steps, minlength=3).tolist()

    def test_each_measure_lies_in_its_interval(self, found):
        scores = found.scores["model"]
        for name in ("mean_absolute_error", "within_one_step", "quadratic_kappa"):
            assert scores[f"{name}_low"] <= scores[name] <= scores[f"{name}_high"]
        assert "mean absolute error" in str(found)
        assert json.loads(found.to_json())["by_distance"] == found.by_distance.tolist()

    def test_intervals_of_the_mean_error_hold_the_true_one(self):
        """Labels and predictions are 0 or 10 by chance; those of a group are the same."""
        covered, rng = 0, np.random.RandomState(0)
        groups = np.arange(80) // 4
        for _ in range(60):
            t, given = rng.randint(2, size=(2, 20)).repeat(4, axis=1)
            found = report_of(t, np.eye(2)[given], [0, 10], groups=groups)
            scores = found.scores["model"]
            covered += scores["mean_absolute_error_low"] <= 5 <= scores["mean_absolute_error_high"]
        assert covered >= 52  # 57 are expected, and 40 if groups were not heeded

    def test_labels_that_the_model_does_not_know_are_left_out(self, model):
        found = report(model, TEXTS[:12], [*Y[:11], 5], baseline=None)
        assert found.by_distance.sum() == 11
        assert any("leaves them out, and so do distances." in note for note in found.notes)

    def test_the_baseline_predicts_the_median_class(self, model):
        train = [f"{text} It was {i}." for i, text in enumerate(TEXTS)]
        y = [1, 4, 1, 9, 9, 4] * 3
        found = report(model, TEXTS, y, X_train=train, y_train=STARS[NUMBERS])
        given = [STARS[k] for k in by_hand(found.baseline)]
        assert found.to_frame()["baseline"].tolist() == given
        assert found.scores["baseline"]["mean_absolute_error"] == mean_absolute_error(y, given)


class TestExpectedNumber:
    @pytest.mark.parametrize("n_sentences", [2, 9])
    def test_contributions_of_sentences_add_up_to_the_expected_number(self, model, n_sentences):
        texts = [" ".join(TEXTS[:n_sentences]), TEXTS[1], ""]
        found = explain(model, texts, targets="expected")
        *expected, empty = model.predict_proba(texts) @ STARS
        for explanation, number in zip(found, expected, strict=False):
            assert explanation.expected == pytest.approx(number)
            assert explanation.base_value == pytest.approx(empty)
            total = explanation.sentence_contributions.sum()
            assert total == pytest.approx(number - empty, abs=1e-6)
        assert f"explained the expected number, {expected[0]:.2f}" in " ".join(str(found).split())
        assert "log-odds" not in found.to_html()
        for shown in map(str, found):  # all classes in their order, to check the number
            assert re.search(r"\(1 [\d.]+, 4 [\d.]+, 9 [\d.]+\)", " ".join(shown.split()))

    def test_a_word_has_the_sign_of_its_effect(self):
        model = tiny(ordered=True, lr=0.05, max_epochs=8).fit(
            TEXTS, np.where(LABELS == "pos", 9, 1)
        )
        good, bad = explain(model, ["Good meal.", "Bad meal."], targets="expected")
        assert good.contributions[0] > 0 > bad.contributions[0]

    def test_contributions_of_columns_count_in_the_expected_number(self):
        frame = pd.DataFrame({"text": TEXTS, "n": np.arange(len(TEXTS)) % 3})
        model = tiny(ordered=True, text_column="text").fit(frame, STARS[NUMBERS])
        explanation = explain(model, frame[:4], targets="expected")[2]
        total = explanation.base_value + explanation.sentence_contributions.sum()
        total += explanation.column_contributions.sum()
        assert total == pytest.approx(model.predict_proba(frame[:4])[2] @ STARS, abs=1e-6)

    def test_scorers_explain_the_expected_number_alike(self, fitted, saved):
        found = Scorer.load(saved).explain(UNSEEN, targets="expected")
        for one, other in zip(found, explain(fitted, UNSEEN, targets="expected"), strict=True):
            assert one.expected == pytest.approx(other.expected, abs=1e-6)
            np.testing.assert_allclose(one.contributions, other.contributions, atol=1e-5)

    def test_other_methods_and_unordered_classes_are_refused(self, fitted):
        with pytest.raises(ValueError, match=r"by method='shapley' alone, .* is 'attention'"):
            explain(fitted, UNSEEN, targets="expected", method="attention")
        with pytest.raises(ValueError, match="has learnt one class a document"):
            explain(tiny().fit(TEXTS, NUMBERS), UNSEEN, targets="expected")


class TestCommandLine:
    @staticmethod
    def fit(folder, labels, *options):
        table, model = str(folder / "data.csv"), str(folder / "m.han")
        pd.DataFrame({"text": TEXTS, "label": labels}).to_csv(table, index=False)
        small = [f"--set={name}=2" for name in ("embedding_dim", "word_hidden", "max_epochs")]
        return sk_han.cli.main(["fit", table, *small, "-q", "-o", model, *options]), model, table

    def test_numeric_classes_of_a_table_are_ordered_numerically(self, tmp_path, capfd):
        _, model, table = self.fit(tmp_path, NUMBERS + 9, "--ordered")
        loaded = sk_han.load(model)
        assert list(map(str, loaded.classes_)) == ["9", "10", "11"]
        capfd.readouterr()
        assert sk_han.cli.main(["evaluate", model, table, "--json", "-q"]) == 0
        predicted = loaded.predict(TEXTS).astype(int)
        error = json.loads(capfd.readouterr().out)["scores"]["model"]["mean_absolute_error"]
        assert error == pytest.approx(mean_absolute_error(NUMBERS + 9, predicted))

    def test_named_classes_have_the_given_order(self, tmp_path, capfd):
        labels = [NAMES[i] for i in NUMBERS]
        code, model, _ = self.fit(tmp_path, labels, "--order", *NAMES)
        assert code == 0
        assert sk_han.load(model).pool_.target.values.tolist() == [0, 1, 2]
        assert Scorer.load(model).classes_.tolist() == NAMES
        assert self.fit(tmp_path, labels, "--order", "low", "mid")[0] == 2
        assert "--order lacks 'high'; name all labels" in capfd.readouterr().err

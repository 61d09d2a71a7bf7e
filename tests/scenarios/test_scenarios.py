"""Ordinary scenarios: what a user combines without a thought."""

from __future__ import annotations

from itertools import islice
from typing import ClassVar

import numpy as np
import pytest

from tests.gpu import needs_gpu
from tests.scenarios.__main__ import reproducer
from tests.scenarios.dimensions import NAMES, PARAMETERS, SLOW, TOKENIZER, is_legal
from tests.scenarios.drawing import Scenario, covering, missing_pairs, shortest
from tests.scenarios.running import run
from tests.thorough import first_fast

N_QUICK, N_FAST = 14, 8
DEFAULTS = {name: values[0] for name, values in NAMES.items()}


def changed(scenario: Scenario) -> Scenario:
    return {name: value for name, value in scenario.items() if value != NAMES[name][0]}


def check(scenarios: dict[int, Scenario]) -> None:
    """Fail with all that is wrong in numbered scenarios, whose numbers are their seeds."""
    found = []
    for seed, scenario in scenarios.items():
        failure = run(scenario, seed)
        if failure is not None:
            short = reproducer(changed(scenario), seed)
            found.append(f"{failure.trace}\n{failure.step}: {failure.message}\n{short}")
    if found:
        pytest.fail("\n\n".join(found), pytrace=False)


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    return list(covering(NAMES, is_legal, seed=0, slow=SLOW))


class TestTable:
    @pytest.mark.thorough
    def test_every_pair_of_values_comes_together(self, scenarios):
        assert missing_pairs(scenarios, NAMES, is_legal) == []

    @pytest.mark.thorough
    def test_scenarios_are_legal(self, scenarios):
        assert all(map(is_legal, scenarios))

    @pytest.mark.thorough
    def test_no_more_scenarios_are_drawn_than_take_minutes(self, scenarios):
        assert 300 < len(scenarios) < 580

    @pytest.mark.parametrize(
        ("table", "estimator"),
        [(PARAMETERS, "HANClassifier"), (TOKENIZER, "HierarchicalTokenizer")],
    )
    def test_every_parameter_is_a_dimension(self, table, estimator):
        import sk_han

        params = getattr(sk_han, estimator)().get_params(deep=False)
        elsewhere = {"tokenizer", "warm_start", "text_column", "columns"}
        assert set(table) == set(params) - elsewhere


class TestDraw:
    TABLE: ClassVar = {"a": ["0", "1", "2"], "b": ["0", "1"], "c": ["0", "1", "2"], "d": ["0", "1"]}

    def test_few_scenarios_have_all_pairs(self):
        found = list(covering(self.TABLE, lambda scenario: True, seed=0))
        assert missing_pairs(found, self.TABLE, lambda scenario: True) == []
        assert len(found) <= 12  # of 36 in all, and 9 are needed

    def test_a_pair_that_is_left_out_is_seen(self):
        found = list(covering(self.TABLE, lambda scenario: True, seed=0))
        few = [s for s in found if (s["a"], s["c"]) != ("1", "2")]
        assert (("a", "1"), ("c", "2")) in missing_pairs(few, self.TABLE, lambda scenario: True)

    def test_what_is_illegal_is_never_drawn(self):
        def legal(scenario):
            return (scenario.get("a"), scenario.get("b")) != ("1", "1")

        found = list(covering(self.TABLE, legal, seed=0))
        assert all(map(legal, found))
        assert missing_pairs(found, self.TABLE, legal) == []

    def test_a_value_that_can_never_be_drawn_is_named(self):
        def legal(scenario):  # no pair forbids it, but all values of b together do
            return "b" not in scenario or scenario.get("a") != "1" or len(scenario) == 2

        with pytest.raises(ValueError, match="No legal scenario has"):
            list(covering(self.TABLE, legal, seed=0))

    def test_the_same_seed_draws_the_same(self):
        draws = [list(covering(self.TABLE, lambda scenario: True, seed)) for seed in (0, 0, 1)]
        assert draws[0] == draws[1] != draws[2]

    def test_the_shortest_reproducer_has_only_what_it_needs(self):
        table = {name: ["0", "1"] for name in "abcdefghijk"}
        scenario = dict.fromkeys(table, "1")
        found = shortest(scenario, table, lambda s: s["c"] == s["h"] == "1")
        assert found == {"c": "1", "h": "1"}


class TestRun:
    def test_the_defaults_pass(self):
        assert run({}) is None

    def test_an_error_is_a_failure_of_its_step(self, monkeypatch):
        from sk_han import HANClassifier

        def transform(self, X):
            raise KeyError("broken")

        monkeypatch.setattr(HANClassifier, "transform", transform)
        failure = run({})
        assert (failure.step, failure.message) == ("predict more", "KeyError: 'broken'")

    def test_a_warning_from_inside_is_a_failure(self, monkeypatch):
        import warnings

        from sk_han import HANClassifier

        predict = HANClassifier.predict

        def warns(self, X):
            warnings.warn("of something inside", DeprecationWarning, stacklevel=1)
            return predict(self, X)

        monkeypatch.setattr(HANClassifier, "predict", warns)
        assert "of something inside" in run({}).message

    def test_a_prediction_that_depends_on_its_batch_is_a_failure(self, monkeypatch):
        from sk_han import HANClassifier

        proba = HANClassifier.predict_proba

        def flat(self, X):
            found = proba(self, X)
            return found if len(found) > 1 else np.full_like(found, 0.5)

        monkeypatch.setattr(HANClassifier, "predict_proba", flat)
        assert run({}).step == "predict more"

    def test_labels_that_do_not_follow_thresholds_are_a_failure(self, monkeypatch):
        from sk_han import HANClassifier

        several = {"classes": "several labels", "y": "indicator frame", "threshold": "array"}
        assert run(several) is None
        monkeypatch.setattr(
            HANClassifier, "predict", lambda self, X: (self.predict_proba(X) >= 0.01).astype(int)
        )
        assert run(several).step == "predict"

    def test_an_unknown_value_is_named(self):
        with pytest.raises(ValueError, match=r"has no .*grru"):
            run({"rnn": "grru"})


@pytest.fixture(scope="module")
def quick_scenarios() -> list[Scenario]:
    table = {name: [v for v in NAMES[name] if v not in SLOW.get(name, ())] for name in NAMES}
    return list(islice(covering(table, is_legal, seed=1), N_QUICK))


@pytest.mark.parametrize("number", first_fast(range(N_QUICK), N_FAST))
def test_a_scenario_passes(quick_scenarios, number):
    check({number: quick_scenarios[number]})


@needs_gpu
@pytest.mark.parametrize("number", range(N_QUICK))
def test_a_scenario_passes_on_a_gpu(quick_scenarios, number):
    check({number: quick_scenarios[number] | {"device": "cuda"}})


@pytest.mark.thorough  # six minutes
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(8))
def test_all_pairs_pass(scenarios, part):
    check({number: scenarios[number] for number in range(part, len(scenarios), 8)})

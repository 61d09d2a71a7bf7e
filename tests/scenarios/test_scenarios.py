"""Ordinary scenarios: what a user combines without a thought."""

from __future__ import annotations

import warnings
from itertools import islice
from typing import ClassVar

import numpy as np
import pytest

from sk_han import HANClassifier, HANRegressor, HierarchicalTokenizer
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
    def test_scenarios_that_take_minutes_have_every_pair_of_values(self, scenarios):
        assert missing_pairs(scenarios, NAMES, is_legal) == []
        assert all(map(is_legal, scenarios))
        assert 300 < len(scenarios) < 620

    @pytest.mark.parametrize(
        ("table", "estimators"),
        [(PARAMETERS, (HANClassifier, HANRegressor)), (TOKENIZER, (HierarchicalTokenizer,))],
    )
    def test_every_parameter_is_a_dimension(self, table, estimators):
        elsewhere = {"tokenizer", "warm_start", "text_column", "columns"}
        parameters = {name for each in estimators for name in each().get_params(deep=False)}
        assert set(table) == parameters - elsewhere


class TestDraw:
    TABLE: ClassVar = {"a": ["0", "1", "2"], "b": ["0", "1"], "c": ["0", "1", "2"], "d": ["0", "1"]}

    def test_few_scenarios_have_all_pairs(self):
        found = list(covering(self.TABLE, lambda scenario: True, seed=0))
        assert missing_pairs(found, self.TABLE, lambda scenario: True) == []
        assert len(found) <= 12  # of 36 in all, and 9 are needed

    def test_a_missing_pair_is_noticed(self):
        found = list(covering(self.TABLE, lambda scenario: True, seed=0))
        few = [s for s in found if (s["a"], s["c"]) != ("1", "2")]
        assert (("a", "1"), ("c", "2")) in missing_pairs(few, self.TABLE, lambda scenario: True)

    def test_illegal_scenarios_are_never_drawn(self):
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

    def test_the_shortest_reproducer_keeps_only_necessary_values(self):
        table = {name: ["0", "1"] for name in "abcdefghijk"}
        scenario = dict.fromkeys(table, "1")
        found = shortest(scenario, table, lambda s: s["c"] == s["h"] == "1")
        assert found == {"c": "1", "h": "1"}


SEVERAL = {"classes": "several labels", "y": "indicator frame", "threshold": "array"}
PREDICT, PROBA = HANClassifier.predict, HANClassifier.predict_proba


def warns(self, X):
    warnings.warn("of something inside", DeprecationWarning, stacklevel=1)
    return PREDICT(self, X)


def flat(self, X):
    proba = PROBA(self, X)
    return proba if len(proba) > 1 else np.full_like(proba, 0.5)


class TestRun:
    def test_an_unknown_value_is_named(self):
        with pytest.raises(ValueError, match=r"has no .*grru"):
            run({"rnn": "grru"})

    @pytest.mark.parametrize(
        ("changed", "method", "broken", "step"),
        [
            ({}, "transform", lambda self, X: {}["broken"], "predict more"),
            ({}, "predict", warns, "predict"),
            ({}, "predict_proba", flat, "predict more"),
            (SEVERAL, "predict", lambda self, X: (self.predict_proba(X) >= 0.01) * 1, "predict"),
        ],
        ids=["an error", "a warning from inside", "by its batch", "not by thresholds"],
    )
    def test_a_fault_fails_its_step(self, monkeypatch, changed, method, broken, step):
        assert run(changed) is None
        monkeypatch.setattr(HANClassifier, method, broken)
        assert run(changed).step == step


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

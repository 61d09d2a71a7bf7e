"""The parameters of explain, declared once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import sk_han
from sk_han.inspection.explanations import ExplainOptions
from sk_han.serving import Scorer

EXPLAINING = (sk_han.explain, sk_han.explain_iter, sk_han.HANClassifier.explain, Scorer.explain)


@pytest.mark.parametrize("function", EXPLAINING)
def test_all_that_explain_show_the_same_parameters(function: Callable[..., Any]) -> None:
    shown = inspect.signature(function).parameters
    options = inspect.signature(ExplainOptions).parameters
    assert list(shown)[-len(options) :] == list(options)
    assert all(shown[name] == parameter for name, parameter in options.items())


def test_what_is_not_given_is_the_default():
    assert ExplainOptions.checked({}) == ExplainOptions()
    assert ExplainOptions.checked({"batch_size": 7}) == ExplainOptions(batch_size=7)


def test_an_unknown_parameter_is_named_with_those_that_exist():
    with pytest.raises(TypeError, match=r"argument 'methods'; the options .* are method, combine"):
        ExplainOptions.checked({"methods": 7})

"""Warnings that point at the user's line."""

import warnings

import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from sk_han import HierarchicalTokenizer
from sk_han.utils.messages import warn_user
from tests.tiny_models import TEXTS, tiny


def places(function, *args):
    """Return the files that the warnings of a call point at."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*args)
    return [(warning.filename, warning.category) for warning in caught]


def inside(package, code="from sk_han.utils.messages import warn_user\nwarn_user('Careful.')"):
    """Run a warning as a module of a package would, in a file of its own name."""
    exec(compile(code, f"/{package}/module.py", "exec"), {"__name__": f"{package}.module"})


def test_it_is_a_user_warning_with_the_message():
    with pytest.warns(UserWarning, match=r"^Careful\.$"):
        warn_user("Careful.")


def test_it_points_at_the_caller():
    assert places(warn_user, "Careful.") == [(__file__, UserWarning)]


@pytest.mark.parametrize("package", ["sk_han", "sklearn", "skorch", "joblib", "torch"])
def test_frames_of_packages_in_between_are_passed_over(package):
    assert places(inside, package) == [(__file__, UserWarning)]


@pytest.mark.parametrize("package", ["sk_hand", "mine", "sklearnex"])
def test_other_packages_are_pointed_at(package):
    assert places(inside, package) == [(f"/{package}/module.py", UserWarning)]


@pytest.mark.parametrize(
    "fit",
    [
        tiny().fit,
        make_pipeline(HierarchicalTokenizer(), tiny()).fit,
        lambda X, y: cross_val_score(tiny(), X, y, cv=2),
    ],
    ids=["classifier", "Pipeline", "search"],
)
def test_a_single_class_is_told_at_the_line_that_fits(fit):
    found = places(fit, TEXTS, ["only"] * len(TEXTS))
    assert found
    assert {file for file, _ in found} == {__file__}

import hashlib

import numpy as np
import pytest

from sk_han.datasets import make_reviews


def test_a_generator_continues_where_it_stopped():
    rng = np.random.RandomState(3)
    assert make_reviews(5, random_state=rng)[0] == make_reviews(5, random_state=3)[0]
    assert make_reviews(5, random_state=rng)[0] != make_reviews(5, random_state=3)[0]


def test_seed_leaves_global_random_state_alone():
    before = np.random.get_state()[1].tolist()
    make_reviews(5, random_state=0)
    assert np.random.get_state()[1].tolist() == before


@pytest.mark.parametrize(
    ("n_classes", "digest"),
    [
        (2, "78a5137565350114899614d8b6af17cf603714d52645cf58e66f9c94a7c0a2f9"),
        (3, "8c005ea67c5831dbf99120e41ab1e806e2113e63728e722f041410473d6375d8"),
        (4, "9c091bbcfedbae7e695d7930e308d96559d2a87b54f6403ba6ad4712ee60cef2"),
        (5, "b19f43ce3a3f4a4997a098390426ce806243ba8bb8cd9fa3b559827c26607b58"),
    ],
)
def test_reviews_of_a_seed_never_change(n_classes, digest):
    corpus = make_reviews(20, n_classes=n_classes, random_state=0, return_rationales=True)
    written = repr([(t, str(y), r) for t, y, r in zip(*corpus, strict=True)])
    assert hashlib.sha256(written.encode()).hexdigest() == digest


@pytest.mark.parametrize("n_classes", [0, 1, 6, "two", None])
def test_unknown_number_of_classes_is_refused(n_classes):
    with pytest.raises(ValueError, match=r"n_classes must be 2, 3, 4 or 5.*got"):
        make_reviews(10, n_classes=n_classes)


@pytest.mark.parametrize("n_samples", [0, -1, 2.5, True, "10"])
def test_number_of_reviews_below_one_or_not_whole_is_refused(n_samples):
    with pytest.raises(ValueError, match=r"n_samples must be an integer of at least 1; got"):
        make_reviews(n_samples)

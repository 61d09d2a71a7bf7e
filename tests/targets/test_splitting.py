"""Documents that are held out, and dealt out to folds; groups stay together."""

import numpy as np
import pytest

from sk_han._targets import splits
from sk_han._targets.splits import folds_of

CODES = np.arange(90) % 2
GROUPS = np.arange(90) // 3  # thirty authors of three documents


def hold_out(codes, fraction=0.2, groups=None, seed=0):
    return splits.hold_out(codes, fraction, np.random.RandomState(seed), groups)


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_each_document_is_on_one_side_and_classes_on_both(groups):
    training, held_out = hold_out(CODES, groups=groups)
    assert sorted([*training, *held_out]) == list(range(90))
    assert len(held_out) == 18
    assert np.bincount(CODES[held_out]).min() >= 6


def test_a_group_is_on_one_side():
    training, held_out = hold_out(CODES, groups=GROUPS)
    assert set(GROUPS[training]).isdisjoint(GROUPS[held_out])


def test_the_only_document_of_a_class_is_learnt_from():
    codes = np.append(CODES, 2)
    training, held_out = hold_out(codes)
    assert 90 in training
    assert 90 not in held_out


def test_the_only_group_of_a_class_is_not_held_out():
    codes = np.where(GROUPS == 7, 2, CODES)
    for seed in range(10):
        training, _ = hold_out(codes, groups=GROUPS, seed=seed)
        assert 2 in codes[training]


def test_rare_classes_are_held_out_in_groups_as_often_as_others():
    codes = np.append(np.zeros(800, dtype=int), np.repeat(np.arange(1, 41), 5))
    _, held_out = hold_out(codes, fraction=0.1, groups=np.arange(1000))
    assert abs(len(held_out) - 100) <= 1
    assert abs((codes[held_out] > 0).sum() - 20) <= 1


def test_of_a_single_group_none_is_held_out():
    training, held_out = hold_out(CODES, groups=np.zeros(90, dtype=int))
    assert held_out is None
    assert training.tolist() == list(range(90))


def test_folds_keep_groups_together_and_are_of_one_size():
    folds = list(folds_of(CODES, GROUPS))
    assert sorted(np.concatenate(folds)) == list(range(90))
    assert [len(fold) for fold in folds] == [18] * 5
    for fold in folds:
        assert set(GROUPS[fold]).isdisjoint(np.delete(GROUPS, fold))


def test_a_large_group_has_a_fold_of_its_own():
    groups = np.where(np.arange(90) < 40, 0, np.arange(90))
    sizes = sorted(len(fold) for fold in folds_of(CODES, groups))
    assert sizes[-1] == 40
    assert sizes[0] >= 12

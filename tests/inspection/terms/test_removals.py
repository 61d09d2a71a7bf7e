import numpy as np

from sk_han.inspection.terms.removals import Decisions


def test_a_term_decides_for_the_classes_that_a_change_leads_from_and_to():
    # Without the term, the second of four documents goes from class 0 to class 1.
    found = Decisions([np.array([0, 0, 1, 2])], [np.array([0, 1, 1, 2])])
    assert [found.share(0, number) for number in range(3)] == [0.25, 0.25, 0.0]

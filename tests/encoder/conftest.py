"""A sentence encoder that counts its calls, and a classifier that was fitted with it."""

import pytest

from tests.encoders_of_sentences import HashEncoder
from tests.opinions import LABELS, TEXTS, quick


@pytest.fixture(scope="module")
def encoder():
    return HashEncoder(size=64)


@pytest.fixture(scope="module")
def fitted(encoder):
    return quick(encoder=encoder).fit(TEXTS, LABELS)

from __future__ import annotations

import pytest

from sk_han import AttentionTranslator
from tests.tiny_pairs import pairs, tiny


@pytest.fixture(scope="session")
def translator() -> AttentionTranslator:
    """One that has learnt all pairs by heart."""
    return tiny(max_epochs=25, hidden_size=19, embedding_dim=23).fit(*pairs())

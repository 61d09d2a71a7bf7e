import pytest

from tests.tiny_pairs import pairs, tiny


@pytest.fixture(scope="session")
def translator():
    """One that has learnt all pairs by heart."""
    return tiny(max_epochs=25, hidden_size=19, embedding_dim=23).fit(*pairs())

"""Which texts have the words of another one."""

import pytest

from sk_han._documents.repeated import text_key


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("A fine film.", "a fine film", True),
        ("A fine film.", "A  fine\nfilm!!", True),
        ("A fine film.", "«A fine film.»", True),
        ("A fine film.", "A fine films.", False),
        ("A fine film.", "A film fine.", False),
        ("A fine film.", "A fine film 2.", False),
        ("? !", "?!", True),
        ("?!", ":-)", False),
    ],
)
def test_case_blanks_and_punctuation_do_not_distinguish_documents(text, other, same):
    assert (text_key(text) == text_key(other)) is same

import pytest

from sk_han.validation.duplicates import duplicate_groups, text_key


@pytest.mark.parametrize("other", ["a fine film", "A  fine\nfilm!!", "«A fine film.»"])
def test_case_blanks_and_punctuation_do_not_tell_documents_apart(other):
    assert text_key(other) == text_key("A fine film.")


@pytest.mark.parametrize("other", ["A fine films.", "A film fine.", "A fine film 2."])
def test_other_words_are_another_document(other):
    assert text_key(other) != text_key("A fine film.")


def test_texts_of_punctuation_alone_are_told_apart():
    assert text_key("? !") == text_key("?!")
    assert text_key("?!") != text_key(":-)")


def test_single_keys_are_no_group():
    assert duplicate_groups(["a", "b", "c"]) == []
    assert duplicate_groups([]) == []

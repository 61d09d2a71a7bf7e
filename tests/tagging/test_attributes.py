import pytest

from sk_han.tagging.fit import attribute_ids, learn_attributes, token_kinds, word_shape

SENTENCES = [[("Ann", "N"), ("ran", "V")], [], [("ran", "V"), ("Ann", "N"), ("Ann", "X")]]


def test_kinds_are_distinct_tokens_in_order():
    kinds = token_kinds(SENTENCES)
    assert kinds.rows == [("Ann", "N"), ("ran", "V"), ("Ann", "X")]
    assert kinds.numbers.tolist() == [0, 1, 1, 0, 2]
    assert kinds.lengths.tolist() == [2, 0, 3]


def test_vocabularies_are_numbered_by_falling_frequency():
    word, column, *_ = learn_attributes(token_kinds(SENTENCES))
    assert word == {"ann": 2, "ran": 3}
    assert column == {"N": 2, "V": 3, "X": 4}


def test_letters_of_one_word_are_left_out():
    sentences = [[("go",), ("ox",), ("ox",)], [], [("gas",), ("Go",)]]
    word, prefix, *_ = learn_attributes(token_kinds(sentences))
    assert word == {"go": 2, "ox": 3, "gas": 4}
    assert prefix == {"g": 2}


def test_unknown_values_have_the_id_1():
    learnt = learn_attributes(token_kinds([[("go", "V"), ("gas", "N")]]))
    ids = attribute_ids([("Go", "N"), ("zip", "Z")], learnt)
    assert ids.shape == (2, 10)
    assert ids[0, :3].tolist() == [learnt[0]["go"], learnt[1]["N"], learnt[2]["g"]]
    assert set(ids[1].tolist()) <= {1, learnt[-1]["xx"]}
    assert ids[1, :2].tolist() == [1, 1]
    assert attribute_ids([], learnt).shape == (0, 10)


@pytest.mark.parametrize(
    ("word", "shape"),
    [("", ""), ("a", "x"), ("NATO", "XX"), ("e-mail", "x-xx"), ("$4.50", "$d.dd"), ("été", "xx")],
)
def test_shapes_shorten_runs_to_two(word, shape):
    assert word_shape(word) == shape

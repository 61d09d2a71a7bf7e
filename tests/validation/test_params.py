"""Parameters inside of parameters that are no objects."""

import pytest

from sk_han import HANClassifier, MultiHopAttention


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"pooling__size": 3}, r"pooling is 'attention', .* pooling=Attention\(\)"),
        ({"pooling__hops": 3}, r"pooling is 'attention', .* pooling=MultiHopAttention\(\)"),
        ({"rnn": "lstm", "rnn__num_layers": 2}, r"rnn is 'lstm', .* rnn=RNN\(\)"),
        ({"tokenizer__min_df": 2}, r"tokenizer is None, .* tokenizer=HierarchicalTokenizer\(\)"),
    ],
)
def test_a_parameter_inside_of_a_string_is_refused_with_the_repair(params, message):
    with pytest.raises(ValueError, match=message):
        HANClassifier().set_params(**params)


def test_a_parameter_of_an_object_is_set():
    classifier = HANClassifier().set_params(pooling=MultiHopAttention(), pooling__hops=2)
    assert classifier.pooling == MultiHopAttention(hops=2)

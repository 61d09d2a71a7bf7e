"""Parameters inside of parameters that are no objects."""

import pytest
from skorch.callbacks import EarlyStopping

from sk_han import AttentionTranslator, HANClassifier, MultiHopAttention, SequenceTagger


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"pooling__hops": 3}, "pooling is 'attention', .* first give it an object with hops"),
        ({"rnn": "lstm", "rnn__num_layers": 2}, "rnn is 'lstm', .* an object with num_layers"),
        ({"min_df": 2}, "min_df belongs to the tokenizer; set tokenizer__min_df"),
        ({"net_params__clip_norm": 2}, "net_params is None, .* Set net_params itself"),
    ],
)
def test_a_parameter_written_inside_a_string_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        HANClassifier().set_params(**params)


@pytest.mark.parametrize("kind", [HANClassifier, SequenceTagger, AttentionTranslator])
def test_a_parameter_of_a_callback_is_refused_with_the_repair(kind):
    with pytest.raises(ValueError, match=r"callbacks is \[.*\], .* Set callbacks itself"):
        kind(callbacks=[("es", EarlyStopping())]).set_params(callbacks__es__patience=2)


def test_a_parameter_of_an_object_is_set():
    classifier = HANClassifier().set_params(pooling=MultiHopAttention(), pooling__hops=2)
    assert classifier.pooling == MultiHopAttention(hops=2)

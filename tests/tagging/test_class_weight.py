"""Weights of labels of a tagger."""

import numpy as np
import pytest
import torch

from sk_han import load, save
from tests.tiny_sentences import X, Y, tiny_tagger

# The same sentence: of the same word a fifth of the labels are NAME.
SENTENCES = [["the", "bank", "was", "old"]] * 200
LABELS = [["O", "O" if i % 5 else "NAME", "O", "O"] for i in range(200)]


@pytest.mark.thorough
@pytest.mark.parametrize("crf", [True, False])
def test_a_rare_label_is_given_where_its_tokens_count_more(crf):
    model = tiny_tagger(crf=crf, max_epochs=15)
    with pytest.warns(UserWarning, match="gives all their tokens the label 'O'"):
        assert model.fit(SENTENCES, LABELS).predict(SENTENCES[:1]) == [["O", "O", "O", "O"]]
    for weights in ("balanced", {"O": 1, "NAME": 30}):
        weighted = model.set_params(class_weight=weights).fit(SENTENCES, LABELS)
        assert weighted.predict(SENTENCES[:1]) == [["O", "NAME", "O", "O"]]


@pytest.mark.parametrize("crf", [True, False])
def test_the_loss_is_of_odds_that_are_smaller_by_the_weights(crf):
    names = sorted({label for labels in Y for label in labels})
    weights = np.arange(1.0, len(names) + 1)
    tagger = tiny_tagger(crf=crf, class_weight=dict(zip(names, weights, strict=True))).fit(X, Y)
    net, sentences = tagger.net_, tagger._sentences(X)
    logits = net.compute("attend", sentences).logits
    targets = np.array([names.index(label) for labels in Y for label in labels])

    class Batch:
        inputs, weights = sentences, np.ones(len(X))

    larger = logits + torch.from_numpy(np.log(weights)).to(logits)
    weighted = net.get_loss(larger, targets, X=Batch)
    net.class_weights = None
    torch.testing.assert_close(weighted, net.get_loss(logits, targets, X=Batch))
    assert not torch.isclose(weighted, net.get_loss(larger, targets, X=Batch))


@pytest.mark.parametrize("labels", [Y, [[len(label) for label in row] for row in Y]])
def test_weights_come_back_from_a_file(labels, tmp_path):
    weights = {label: 2.0 for row in labels for label in row}
    tagger = tiny_tagger(class_weight=weights, max_epochs=1).fit(X, labels)
    save(tagger, tmp_path / "tagger.han")
    loaded = load(tmp_path / "tagger.han")
    assert loaded.class_weight == weights
    assert loaded.fit(X, labels).predict(X) == tagger.predict(X)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"O": 1, "NAMES": 2}, "NAMES"),
        ({"O": 1, "NAME": 0}, "class_weight of 'NAME' is 0; those of a tagger are above 0"),
        ({"O": 1, "NAME": -1}, "class_weight of 'NAME' is -1"),
        ({"O": 1, "NAME": np.inf}, "class_weight of 'NAME' is inf"),
        ("even", "class_weight.*balanced"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    tagger = tiny_tagger(class_weight=weights)
    with pytest.raises(ValueError, match=message):
        tagger.fit(SENTENCES, LABELS)

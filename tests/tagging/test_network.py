"""The tagging network against one that reads a sentence at a time, in double precision."""

import torch

from sk_han.tagging import TaggingNetwork

SIZES = [11, 5, 7]
SMALL = {"embedding_dim": 5, "attribute_dim": 3, "hidden_size": 7}
KINDS = torch.tensor([0, 2, 2, 1, 3, 0, 4, 4])
ATTRIBUTES = torch.tensor([[2, 2, 3], [3, 4, 2], [1, 1, 1], [10, 4, 6], [2, 2, 6]])
LENGTHS = torch.tensor([3, 0, 1, 4])
LABELS = torch.tensor([0, 1, 1, 2, 0, 2, 1, 0])


def network(**options):
    generator = torch.Generator().manual_seed(0)
    return TaggingNetwork(SIZES, 3, generator=generator, **(SMALL | options)).eval()


def plain_logits(module, kinds):
    """Score one sentence with PyTorch's own layers."""
    rows = ATTRIBUTES[kinds]
    others = module.attributes.weight
    vectors = [
        module.embedding.weight[rows[:, 0]],
        others[rows[:, 1]],
        others[SIZES[1] + rows[:, 2]],
    ]
    return module.output(module.encoder.gru(torch.cat(vectors, dim=1))[0])


def test_logits_match_those_of_one_sentence_at_a_time():
    module = network().double()
    found = module(KINDS, ATTRIBUTES, LENGTHS).split(LENGTHS.tolist())
    for kinds, logits in zip(KINDS.split(LENGTHS.tolist()), found, strict=True):
        if len(kinds):
            torch.testing.assert_close(logits, plain_logits(module, kinds))


def test_each_engine_has_the_same_gradients(engine):
    module = network(dropout=0.0, word_dropout=0.0).train()
    module.losses(module(KINDS, ATTRIBUTES, LENGTHS), LABELS, LENGTHS).sum().backward()
    exact = network(dropout=0.0, word_dropout=0.0).double().train()
    exact.losses(exact(KINDS, ATTRIBUTES, LENGTHS), LABELS, LENGTHS).sum().backward()
    for (name, found), expected in zip(module.named_parameters(), exact.parameters(), strict=True):
        torch.testing.assert_close(
            found.grad.double(), expected.grad, rtol=1e-4, atol=1e-5, msg=name
        )


def test_long_initial_vectors_are_kept_and_rescaled_on_input():
    vectors = torch.randn(11, 5, generator=torch.Generator().manual_seed(1))
    short, long = network().double(), network().double()
    short.start_from(vectors * 0.1 / vectors.square().mean().sqrt())
    long.start_from(100 * vectors)
    torch.testing.assert_close(long.embedding.weight.float(), 100 * vectors)
    torch.testing.assert_close(*(n(KINDS, ATTRIBUTES, LENGTHS) for n in (short, long)))
    long.start_from(torch.zeros(11, 5))
    assert not long.embedding.weight.any()

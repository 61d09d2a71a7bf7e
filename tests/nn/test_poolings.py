"""Poolings: the equations of the papers, their gradients, and which one options make."""

import math

import pytest
import torch
from torch.func import functional_call
from torch.testing import assert_close

from sk_han import RNN, Attention, ContextAttention, MultiHopAttention
from sk_han.nn import (
    AttentionPooling,
    ContextPooling,
    HierarchicalAttentionNetwork,
    LabelAttention,
    LastPooling,
    MaxPooling,
    MeanPooling,
    MultiHopPooling,
    NetworkOptions,
    Pooling,
)

OF_FIVE = [3, 0, 7, 1, 2]  # N = 5 sequences, L = 7, T = 13


@pytest.fixture
def states():
    """Thirteen states of size H = 3."""
    return torch.cos(torch.arange(39, dtype=torch.float64)).view(13, 3).requires_grad_()


@pytest.mark.usefixtures("engine")
class TestAttentionPooling:
    @pytest.fixture
    def pooling(self, fill):
        """States of size H = 3, attention of size A = 11, in double precision: by PyTorch."""
        pooling = AttentionPooling(input_size=3, attention_dim=11)
        fill(pooling)
        return pooling.double()

    def test_pooling_worked_by_hand(self):
        # u is tanh of the first feature; the context vector makes the scores log(3) and 0.
        pooling = AttentionPooling(input_size=2, attention_dim=1).double()
        with torch.no_grad():
            pooling.weight.copy_(torch.tensor([[1.0, 0.0]]))
            pooling.context.fill_(math.log(3) / math.tanh(1))
        states = torch.tensor([[1.0, 4.0], [0.0, 8.0]], dtype=torch.float64)
        pooled, weights = pooling.pool(states, torch.tensor([2]))
        assert weights.flatten().tolist() == pytest.approx([3 / 4, 1 / 4], abs=1e-15)
        assert pooled[0].tolist() == pytest.approx([3 / 4, 3 + 2], abs=1e-15)

    def test_each_sequence_is_pooled_as_the_paper_says(self, pooling, states):
        pooled, weights = pooling.pool(states, torch.tensor(OF_FIVE))
        for h, s, alpha in zip(states.split(OF_FIVE), pooled, weights.split(OF_FIVE), strict=True):
            u = torch.tanh(h @ pooling.weight.T + pooling.bias)
            expected = torch.softmax(u @ pooling.context, 0)
            assert_close(alpha, expected.unsqueeze(1), rtol=0, atol=1e-14)
            assert_close(s, expected @ h, rtol=0, atol=1e-14)

    @pytest.mark.parametrize("lengths", [[0, 0], []])
    def test_no_states_pool_to_zero_with_gradients(self, pooling, lengths):
        given = torch.tensor(lengths, dtype=torch.int64)
        pooled, weights = pooling.pool(torch.empty(0, 3).double(), given)
        assert pooled.tolist() == [[0, 0, 0]] * len(lengths)
        assert weights.shape == (0, 1)
        pooled.sum().backward()
        assert all(p.grad is None or p.grad.eq(0).all() for p in pooling.parameters())

    def test_gradients_equal_numerical_ones(self, pooling, states):
        names, parameters = zip(*pooling.named_parameters(), strict=True)
        pooling.forward = pooling.pool  # what functional_call calls

        def pool(states, *parameters):
            given, lengths = dict(zip(names, parameters, strict=True)), torch.tensor([2, 0, 3])
            return functional_call(pooling, given, (states, lengths))

        inputs = states.detach()[:5].requires_grad_(), *parameters
        assert torch.autograd.gradcheck(pool, inputs)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("engine", ["numba"], indirect=True)
class TestKernelsOfAttention:
    @pytest.fixture(params=[1, 3], autouse=True)
    def _threads(self, request, monkeypatch):
        monkeypatch.setattr("sk_han._kernels.engine._ROWS_A_THREAD", 1)
        torch.set_num_threads(request.param)

    @pytest.fixture
    def make(self):
        """Make a pooling of states of size H, and n states."""

        def make(n, H, A):
            generator = torch.Generator().manual_seed(0)
            return AttentionPooling(H, A, generator), torch.randn(n, H, generator=generator)

        return make

    @pytest.mark.parametrize(("H", "A"), [(1, 1), (5, 16), (16, 37), (37, 5), (100, 100)])
    @pytest.mark.parametrize("lengths", [OF_FIVE, [2, 3, 5, 7, 11, 2, 4, 13], [300, 3], [1], []])
    def test_results_and_gradients_are_those_of_double_precision(self, make, H, A, lengths):
        pooling, states = make(sum(lengths), H, A)
        lengths, found = torch.tensor(lengths, dtype=torch.int64), []
        for dtype in (torch.float32, torch.float64):
            pooling, given = pooling.to(dtype), states.to(dtype).requires_grad_()
            outputs = pooling.pool(given, lengths)
            loss = sum((torch.sin(torch.arange(o.numel())).view_as(o) * o).sum() for o in outputs)
            leaves = [given, *pooling.parameters()]
            found.append([*outputs, *torch.autograd.grad(loss, leaves)])
        n_terms = max(size for each in found[1] for size in each.shape)
        for single, double in zip(*found, strict=True):
            # The rounding of a sum grows with the square root of the number of its terms.
            largest = double.abs().max().item() if double.numel() else 0.0
            bound = (1 + largest) * (2e-6 + 4e-7 * n_terms**0.5)
            assert_close(single.double(), double, rtol=2e-5, atol=bound)

    @pytest.mark.parametrize("lengths", [[2, 2], [4, -1], [1]])
    def test_lengths_of_other_tokens_are_refused(self, make, lengths):
        pooling, states = make(3, 5, 7)
        with pytest.raises(ValueError, match="add up to 3 tokens"):
            pooling.pool(states, torch.tensor(lengths))

    def test_a_given_gradient_is_left_alone(self, make):
        pooling, states = make(3, 5, 7)
        given = torch.tensor([[1.0], [2.0], [3.0]])
        outputs = pooling.pool(states.requires_grad_(), torch.tensor([3]))
        torch.autograd.grad(outputs, states, (torch.ones(1, 5), given))
        assert given.flatten().tolist() == [1, 2, 3]

    def test_small_terms_of_long_sums_are_not_lost(self, make):
        # Equal states have equal weights, of which 300,000 sum to 1, and their mean is the state.
        pooling, _ = make(0, 5, 7)
        with torch.no_grad():
            pooled, weights = pooling.pool(torch.ones(300_000, 5), torch.tensor([300_000]))
        assert weights.double().sum().item() == pytest.approx(1, abs=1e-6)
        assert_close(pooled, torch.ones(1, 5), rtol=0, atol=1e-4)


OF_TWO = torch.tensor([3, 0, 1])
ONE_DIRECTION = LastPooling(2, bidirectional=False)
BOTH_DIRECTIONS = LastPooling(2, bidirectional=True)
POOLINGS = [MeanPooling(2), MaxPooling(2), ONE_DIRECTION, BOTH_DIRECTIONS]
IDS = ["mean", "max", "last", "last of both"]
each_pooling = pytest.mark.parametrize("pooling", POOLINGS, ids=IDS)


class TestUnweighted:
    @pytest.fixture
    def states(self):
        """A sequence of three states and one of a single state; the maximum -1 stands twice."""
        states = [[2.0, -1.0], [5.0, -4.0], [-1.0, -1.0], [7.0, -8.0]]
        return torch.tensor(states, dtype=torch.float64, requires_grad=True)

    @pytest.mark.parametrize(
        ("pooling", "pooled", "weights", "gradients"),
        [
            (POOLINGS[0], [2, -2], [1 / 3, 1 / 3, 1 / 3], [[1 / 3, 1 / 3]] * 3),
            (POOLINGS[1], [5, -1], [1 / 2, 1 / 2, 0], [[0, 1], [1, 0], [0, 0]]),
            (POOLINGS[2], [-1, -1], [0, 0, 1], [[0, 0], [0, 0], [1, 1]]),
            (POOLINGS[3], [-1, -1], [1 / 2, 0, 1 / 2], [[0, 1], [0, 0], [1, 0]]),
        ],
        ids=IDS,
    )
    def test_pooling_worked_by_hand(self, states, pooling, pooled, weights, gradients):
        found, found_weights = pooling.pool(states, OF_TWO)
        assert_close(found, torch.tensor([pooled, [0, 0], [7, -8]]).double(), rtol=0, atol=1e-15)
        assert found_weights.flatten().tolist() == pytest.approx([*weights, 1], abs=1e-15)
        found.sum().backward()
        assert_close(states.grad, torch.tensor([*gradients, [1, 1]]).double(), rtol=0, atol=1e-7)

    def test_last_takes_the_end_of_each_direction(self):
        states = torch.arange(12.0).view(3, 4)
        pooled, _ = LastPooling(4, bidirectional=True).pool(states, torch.tensor([3]))
        assert pooled.tolist() == [[8, 9, 2, 3]]  # forward half of the last, backward of the first

    @pytest.mark.parametrize("lengths", [[0, 0], []])
    @each_pooling
    def test_no_states_pool_to_zero(self, pooling, lengths):
        pooled, weights = pooling.pool(torch.empty(0, 2), torch.tensor(lengths, dtype=torch.int64))
        assert pooled.tolist() == [[0, 0]] * len(lengths)
        assert weights.shape == (0, 1)

    def test_what_is_no_number_is_passed_on(self):
        states = torch.tensor([[1.0, float("nan")], [2.0, 3.0]])
        pooled, _ = MaxPooling(2).pool(states, torch.tensor([2]))
        assert pooled[0, 0] == 2
        assert pooled[0, 1].isnan()


class TestMultiHopPooling:
    @pytest.fixture
    def pooling(self, fill):
        """States of size H = 3, attention of size A = 11, R = 5 hops."""
        pooling = MultiHopPooling(input_size=3, attention_dim=11, hops=5).double()
        fill(pooling)
        return pooling

    def test_each_sequence_is_pooled_as_the_paper_says(self, pooling, states):
        pooled, weights = pooling.pool(states, torch.tensor(OF_FIVE))
        assert pooled.shape == (5, 15)
        assert weights.shape == (13, 5)
        for h, m, alpha in zip(states.split(OF_FIVE), pooled, weights.split(OF_FIVE), strict=True):
            scores = pooling.context @ torch.tanh(pooling.weight @ h.T + pooling.bias[:, None])
            A = scores.softmax(1)  # (R, L)
            assert_close(alpha, A.T, rtol=0, atol=1e-14)
            assert_close(m, (A @ h).flatten(), rtol=0, atol=1e-14)


WORDS_OF_SIX = [3, 1, 2, 4, 1, 2]  # of N = 6 sentences, T = 13
SENTENCES_OF_FOUR = [2, 0, 1, 3]  # of D = 4 documents
OF_CONTEXT = torch.tensor(WORDS_OF_SIX), torch.tensor(SENTENCES_OF_FOUR)


def one_at_a_time(direction, sentences, mean, gated):
    """Remy et al. (2019) for one document: sentence vectors and word weights."""
    vectors, weights = [], []
    for h in sentences:
        c = sum(vectors, torch.zeros(3, dtype=torch.float64))
        if mean and vectors:
            c = c / len(vectors)
        Wh, Vc = h @ direction.weight.T, direction.sentence_weight @ c
        if gated:
            gate = direction.gate_sentence_weight @ c + direction.gate_bias
            share = torch.sigmoid(h @ direction.gate_weight + gate)[:, None]
            Wh, Vc = share * Wh, (1 - share) * Vc
        alpha = (torch.tanh(Wh + Vc + direction.bias) @ direction.context).softmax(0)
        vectors.append(alpha @ h)
        weights.append(alpha)
    return vectors, weights


class TestContextPooling:
    @pytest.fixture
    def make_pooling(self, fill):
        """States of size H = 3, attention of size A = 11."""

        def make(**params):
            defaults = {"bidirectional": False, "summary": "sum", "gated": False}
            pooling = ContextPooling(3, 11, **(defaults | params)).double()
            fill(pooling)
            return pooling

        return make

    @pytest.mark.parametrize("bidirectional", [False, True])
    @pytest.mark.parametrize("summary", ["mean", "sum"])
    @pytest.mark.parametrize("gated", [False, True])
    def test_each_document_is_read_as_the_paper_says(
        self, make_pooling, states, bidirectional, summary, gated
    ):
        pooling = make_pooling(bidirectional=bidirectional, summary=summary, gated=gated)
        vectors, weights, first, sentences = [], [], 0, states.split(WORDS_OF_SIX)
        for n in SENTENCES_OF_FOUR:
            document = list(sentences[first : first + n])
            mean = summary == "mean"
            s, alpha = one_at_a_time(pooling.forwards, document, mean, gated)
            if bidirectional:
                s_back, alpha_back = one_at_a_time(pooling.backwards, document[::-1], mean, gated)
                s = [torch.cat(both) for both in zip(s, s_back[::-1], strict=True)]
                alpha = [torch.stack(both, 1) for both in zip(alpha, alpha_back[::-1], strict=True)]
            vectors += s
            weights += alpha
            first += n
        found, found_weights = pooling.pool(states, *OF_CONTEXT)
        assert found.shape == (6, pooling.output_size)
        assert_close(found, torch.stack(vectors), rtol=0, atol=1e-14)
        assert_close(found_weights, torch.cat(weights).view(13, -1), rtol=0, atol=1e-14)

    @pytest.mark.parametrize(("summary", "score"), [("sum", 3.0), ("mean", 1.5)])
    def test_context_worked_by_hand(self, summary, score):
        # Sentences of one word are their word: 1, then 2. The words 0 and 1 of the third meet
        # c = 1 + 2, or its half. With W = 0 and V = 1, u is tanh of what the gate leaves of c.
        context = ContextPooling(1, 1, bidirectional=False, summary=summary, gated=True).double()
        direction = context.forwards
        with torch.no_grad():
            for weight in direction.parameters():
                weight.zero_()
            direction.sentence_weight.fill_(1.0)
            direction.gate_weight.fill_(math.log(3))  # lambda is 1/2 for word 0 and 3/4 for word 1
            direction.context.fill_(1.0)
        states = torch.tensor([[1.0], [2.0], [0.0], [1.0]], dtype=torch.float64)
        _, weights = context.pool(states, torch.tensor([1, 1, 2]), torch.tensor([3]))
        first, second = math.exp(math.tanh(score / 2)), math.exp(math.tanh(score / 4))
        assert weights[2:].flatten().tolist() == pytest.approx(
            [first / (first + second), second / (first + second)], abs=1e-15
        )

    def test_no_sentences_pool_to_nothing(self, make_pooling):
        nothing = torch.empty(0, dtype=torch.int64)
        pooled, weights = make_pooling(bidirectional=True).pool(
            torch.empty(0, 3).double(), nothing, torch.tensor([0, 0])
        )
        assert pooled.shape == (0, 6)
        assert weights.shape == (0, 2)

    def test_without_lengths_of_documents_all_sentences_are_of_one(self, make_pooling, states):
        pooling = make_pooling(bidirectional=True)
        found = pooling.pool(states, OF_CONTEXT[0])
        assert_close(found, pooling.pool(states, OF_CONTEXT[0], torch.tensor([6])), rtol=0, atol=0)
        assert not torch.allclose(found[0], pooling.pool(states, *OF_CONTEXT)[0])


L, H = 5, 3
WORDS = torch.tensor([2, 1, 4, 0, 7])  # of 5 sentences
SENTENCES = torch.tensor([2, 0, 3])  # of 3 documents, the second empty


def scores(attention, states, words=WORDS, sentences=SENTENCES):
    return attention.scores(attention.sums(states, words), sentences)


class TestLabelAttention:
    @pytest.fixture
    def attention(self):
        generator = torch.Generator().manual_seed(0)
        return LabelAttention(H, L, generator).double()

    @pytest.fixture
    def states(self):
        return torch.cos(torch.arange(14 * H, dtype=torch.float64)).view(14, H) * 3

    def test_by_hand(self):
        attention = LabelAttention(1, 1).double()
        with torch.no_grad():
            attention.query.fill_(2), attention.value.fill_(5)
        states = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
        weight = math.exp(10 * math.tanh(0.2))  # of the second word; of the first it is 1
        expected = torch.tensor([[5 * weight / (1 + weight)]], dtype=torch.float64)
        found = scores(attention, states, torch.tensor([2]), torch.tensor([1]))
        assert_close(found, expected)

    def test_it_is_a_softmax_over_the_words_of_the_document(self, attention, states):
        squashed = 10 * torch.tanh(states @ attention.query.T / 10)
        values = states @ attention.value.T
        expected = [
            (torch.softmax(squashed[rows], 0) * values[rows]).sum(0)
            for rows in (slice(0, 3), slice(3, 14))
        ]
        found = scores(attention, states)
        assert_close(found[[0, 2]], torch.stack(expected))
        assert_close(found[1], torch.zeros(L, dtype=torch.float64))

    def test_where_sentences_end_does_not_matter(self, attention, states):
        others = scores(attention, states, torch.tensor([3, 5, 6]), torch.tensor([1, 0, 2]))
        assert_close(scores(attention, states), others)

    def test_gradients_are_those_of_the_sums_in_portions_too(self, attention, states, monkeypatch):
        monkeypatch.setattr("sk_han.nn._poolings._NUMBERS_AT_ONCE", 3 * 2 * L)  # three words
        leaf = states.clone().requires_grad_()
        assert torch.autograd.gradcheck(lambda s: attention.sums(s, WORDS), leaf)
        sums = attention.sums(leaf, WORDS)
        weights = torch.sin(torch.arange(sums.numel())).view_as(sums)
        found = torch.autograd.grad((weights * sums).sum(), [attention.query, attention.value])
        exponential = torch.exp(10 * torch.tanh(states @ attention.query.T / 10))
        each = torch.cat([exponential, exponential * (states @ attention.value.T)], 1)
        plain = (weights.repeat_interleave(WORDS, 0) * each).sum()
        expected = torch.autograd.grad(plain, [attention.query, attention.value])
        assert_close(found, expected)

    def test_contributions_of_words_sum_to_a_score(self, attention, states):
        sums = attention.sums(states, WORDS).detach().requires_grad_()
        found = attention.scores(sums, SENTENCES)
        factors = torch.sin(torch.arange(found.numel())).view_as(found)
        (gradient,) = torch.autograd.grad((factors * found).sum(), sums)
        words = attention.attributions(states, gradient, WORDS).detach()
        by_document = torch.stack([words[:3].sum(), words[3:].sum()])
        assert_close(by_document, (factors * found).sum(1).detach()[[0, 2]])

    def test_states_of_any_size_give_finite_scores(self, attention):
        states = torch.full((3, H), 1e30)
        found = scores(attention.float(), states, torch.tensor([3]), torch.tensor([1]))
        assert torch.isfinite(found).all()

    @pytest.mark.parametrize("by_default", [False, True])
    @pytest.mark.parametrize("per_label", [False, True])
    def test_what_is_asked_for_stays(self, by_default, per_label):
        options = NetworkOptions(pooling=Attention(per_label=per_label)).decided(by_default)
        assert options.attends_per_label is per_label

    def test_a_pooling_without_attention_has_none(self):
        assert not NetworkOptions(pooling="mean").decided(True).attends_per_label


def poolings_of(**options):
    """Return the poolings of words and of sentences that a network of these options has."""
    network = HierarchicalAttentionNetwork(
        7, 2, embedding_dim=2, word_hidden=3, sentence_hidden=3, **options
    )
    return network.word_attention, network.sentence_attention


class TestWhichOne:
    @pytest.mark.parametrize(
        ("pooling", "kind"),
        [
            (Attention(size=11), AttentionPooling),
            (MultiHopAttention(size=11, hops=1), AttentionPooling),
            (MultiHopAttention(size=11, hops=3), MultiHopPooling),
            ("attention", AttentionPooling),
            ("mean", MeanPooling),
            ("max", MaxPooling),
            ("last", LastPooling),
        ],
    )
    def test_both_levels_pool_alike(self, pooling, kind):
        for found in poolings_of(pooling=pooling):
            assert type(found) is kind
            assert found.output_size == (18 if kind is MultiHopPooling else 6)
            assert not found.across_sequences

    @pytest.mark.parametrize("kind", [Attention, MultiHopAttention, ContextAttention])
    def test_the_size_is_that_of_the_option(self, kind):
        for found in poolings_of(pooling=kind(size=11)):
            weighted = found.forwards if isinstance(found, ContextPooling) else found
            assert weighted.weight.shape == (11, 6)

    @pytest.mark.parametrize("direction", ["forward", "bidirectional"])
    @pytest.mark.parametrize("summary", ["mean", "sum"])
    @pytest.mark.parametrize("gated", [False, True])
    def test_words_have_the_context_of_the_option_and_sentences_none(
        self, direction, summary, gated
    ):
        pooling = ContextAttention(size=11, direction=direction, summary=summary, gated=gated)
        words, sentences = poolings_of(pooling=pooling)
        assert isinstance(words, ContextPooling)
        assert words.across_sequences
        assert (words.backwards is not None) is (direction == "bidirectional")
        for part in filter(None, (words.forwards, words.backwards)):
            assert part.summary == summary
            assert hasattr(part, "gate_weight") is gated
        assert type(sentences) is AttentionPooling

    @pytest.mark.parametrize(("bidirectional", "forward_size"), [(True, 3), (False, 3)])
    def test_last_states_are_those_of_the_directions(self, bidirectional, forward_size):
        for found in poolings_of(pooling="last", rnn=RNN(bidirectional=bidirectional)):
            assert found.forward_size == forward_size
            assert found.output_size == (6 if bidirectional else 3)


def test_attributions_of_weighted_sums_worked_by_hand():
    states = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    weights = torch.tensor([[0.5, 0.0], [0.5, 1.0], [1.0, 1.0]])
    # Of two weighted sums side by side: of the first the first entry, of the second both.
    gradient = torch.tensor([[1.0, 0.0, 1.0, 0.1], [4.0, 0.0, 0.0, 0.0]])
    found = Pooling().attributions(states, weights, gradient, torch.tensor([2, 1]))
    assert found.tolist() == [0.5, 0.5 * 2 + 2 + 2, 12]

"""The recurrence on a GPU: its kernels, and where they compute.

Without a GPU, Triton's interpreter runs the kernels: install triton and numpy<2.4, and set
TRITON_INTERPRET=1.
"""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from sk_han.kernels import engine as engine_choice
from sk_han.kernels.engine import using_engine
from sk_han.nn import BidirectionalGRU
from sk_han.nn import functions as gpu_functions
from sk_han.nn.functions import LARGEST_HIDDEN, gru_states_on_gpu, kernels_for
from tests.gpu import needs_gpu

LENGTHS = [3, 1, 7, 0, 2, 0, 40, *[5, 2] * 9]  # those with tokens are more than one program takes


@pytest.fixture
def kernels():
    if not find_spec("triton"):
        pytest.skip("needs Triton, which comes with PyTorch for CUDA")
    if not torch.cuda.is_available() and "TRITON_INTERPRET" not in os.environ:
        pytest.skip("needs a CUDA device, or TRITON_INTERPRET=1 for Triton's interpreter")
    from sk_han.kernels import gpu_recurrence

    return gpu_recurrence


# Of Triton's interpreter.
@pytest.mark.filterwarnings("ignore:Conversion of an array:DeprecationWarning")
class TestKernels:
    @pytest.mark.gpu
    @pytest.mark.parametrize("hidden", [1, 5, 16, 50, LARGEST_HIDDEN])
    def test_states_and_gradients_are_those_of_pytorch(self, kernels, hidden):
        device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.manual_seed(7)
        encoder = BidirectionalGRU(input_size=3, hidden_size=hidden)
        index = torch.randint(11, (sum(LENGTHS),))
        inputs, grad = torch.randn(11, 3), torch.randn(sum(LENGTHS), 2 * hidden)

        exact = BidirectionalGRU(3, hidden).double()
        exact.load_state_dict(encoder.state_dict())
        given = inputs.double().requires_grad_()
        states = exact(given, index, torch.tensor(LENGTHS))
        wanted = [given, *exact.parameters()]
        expected = [states, *torch.autograd.grad(states, wanted, grad.double())]

        encoder.to(device)
        given = inputs.to(device).requires_grad_()
        states = gru_states_on_gpu(
            kernels, given, *encoder._weights(), index.to(device), torch.tensor(LENGTHS)
        )
        wanted = [given, *encoder.parameters()]
        found = [states, *torch.autograd.grad(states, wanted, grad.to(device))]
        found = [each.cpu().double() for each in found]
        assert_close(found[0], expected[0], rtol=0, atol=1e-6)
        assert_close(found, expected, rtol=1e-5, atol=1e-5)

    @pytest.mark.gpu
    @pytest.mark.parametrize("lengths", [[], [0, 0]])
    def test_no_tokens_give_no_states_and_gradients_of_zero(self, kernels, lengths):
        device = "cuda" if torch.cuda.is_available() else "cpu"
        encoder, inputs = BidirectionalGRU(3, 5).to(device), torch.ones(2, 3, device=device)
        index = torch.empty(0, dtype=torch.int64, device=device)
        lengths_of_nothing = torch.tensor(lengths, dtype=torch.int64)
        states = gru_states_on_gpu(kernels, inputs, *encoder._weights(), index, lengths_of_nothing)
        assert states.shape == (0, 10)
        states.sum().backward()
        assert all(weight.grad.eq(0).all() for weight in encoder.parameters())


def test_lengths_that_are_not_of_the_tokens_are_refused():
    weights = BidirectionalGRU(3, 5)._weights()
    for lengths in ([3, 1], [6, -1]):
        with pytest.raises(ValueError, match="at least 0 and add up to 5 tokens; got"):
            gru_states_on_gpu(
                ModuleType("kernels"),
                torch.ones(1, 3),
                *weights,
                torch.zeros(5, dtype=torch.int64),
                torch.tensor(lengths),
            )


def test_kernels_are_started_on_the_gpu_of_their_tensors(monkeypatch):
    started, current = [], []

    @contextmanager
    def device_of(tensor):
        current.append(tensor.shape)
        yield
        current.clear()

    class Kernel:
        def __getitem__(self, grid):
            return lambda *_, **__: started.extend(current or ["elsewhere"])

    monkeypatch.setattr(torch.cuda, "device_of", device_of)
    kernels = SimpleNamespace(forward=Kernel(), backward=Kernel())
    weights, index = BidirectionalGRU(3, 5)._weights(), torch.tensor([0, 1, 0])
    inputs = torch.ones(2, 3)
    gru_states_on_gpu(kernels, inputs, *weights, index, torch.tensor([3])).sum().backward()
    assert started == [(3, 10), (3, 10)]


@needs_gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_a_gpu_that_is_not_the_current_one_computes_the_same():
    found = []
    for device in ("cpu", "cuda:1"):
        torch.manual_seed(7)
        encoder, inputs = BidirectionalGRU(3, 50), torch.randn(11, 3)
        index = torch.randint(11, (sum(LENGTHS),)).to(device)
        states = encoder.to(device)(inputs.to(device), index, torch.tensor(LENGTHS))
        states.sum().backward()
        found.append([states.cpu(), *(each.grad.cpu() for each in encoder.parameters())])
    assert_close(found[1], found[0], rtol=1e-4, atol=1e-4)


@needs_gpu
class TestOnAGPU:
    @pytest.fixture
    def encoder(self):
        return BidirectionalGRU(3, 50).to("cuda")

    def states(self, encoder):
        torch.manual_seed(7)
        weight = encoder.gru.weight_ih_l0
        inputs = torch.randn(11, 3, dtype=torch.float64).to(weight)
        index = torch.randint(11, (sum(LENGTHS),)).to("cuda")
        return encoder(inputs, index, torch.tensor(LENGTHS))

    def test_kernels_compute_in_single_precision(self, encoder):
        assert kernels_for(encoder.gru.weight_ih_l0) is not None
        found = self.states(encoder)
        # By default cuDNN rounds the factors of its products to 10 bits.
        with using_engine("torch"), torch.backends.cudnn.flags(allow_tf32=False):
            assert kernels_for(encoder.gru.weight_ih_l0) is None
            assert_close(found, self.states(encoder), rtol=0, atol=1e-6)
        exact = self.states(encoder.double())
        assert_close(found.double(), exact, rtol=0, atol=1e-6)

    def test_larger_states_are_left_to_cudnn(self):
        encoder = BidirectionalGRU(3, LARGEST_HIDDEN + 1).to("cuda")
        assert kernels_for(encoder.gru.weight_ih_l0) is None
        assert self.states(encoder).shape == (sum(LENGTHS), 2 * LARGEST_HIDDEN + 2)


class TestWhereTheyCompute:
    @pytest.fixture(autouse=True)
    def _nothing_loaded(self, monkeypatch):
        monkeypatch.setattr(engine_choice, "_LOADED", {})
        monkeypatch.setattr(engine_choice, "find_spec", lambda name: object())
        monkeypatch.setattr(torch.version, "cuda", "12.8")
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))

    @pytest.fixture
    def weight(self):
        """Stand in for weights of inputs on a GPU, (3 * 5, 3)."""

        class Weight:
            dtype, device = torch.float32, torch.device("cuda")

            def __len__(self):
                return 15

        return Weight()

    def test_not_on_a_cpu(self, monkeypatch):
        monkeypatch.setattr(engine_choice, "import_module", pytest.fail)
        assert kernels_for(nn.GRU(3, 5).weight_ih_l0) is None

    def test_not_without_triton_nor_for_the_engine_torch(self, monkeypatch, weight):
        monkeypatch.setattr(engine_choice, "import_module", pytest.fail)
        with using_engine("torch"):
            assert kernels_for(weight) is None
        monkeypatch.setattr(engine_choice, "find_spec", lambda name: None)
        assert kernels_for(weight) is None

    def test_once_they_have_been_tried(self, monkeypatch, weight):
        module, tried = ModuleType("kernels"), []
        monkeypatch.setattr(engine_choice, "import_module", lambda name: module)
        monkeypatch.setattr(gpu_functions, "_try", lambda found, device: tried.append(found))
        assert kernels_for(weight) is kernels_for(weight) is module
        assert tried == [module]

    def test_not_on_an_older_gpu_beside_a_newer_one(self, monkeypatch, weight):
        module, capability = ModuleType("kernels"), {}
        monkeypatch.setattr(torch.cuda, "get_device_capability", capability.get)
        monkeypatch.setattr(engine_choice, "import_module", lambda name: module)
        monkeypatch.setattr(gpu_functions, "_try", lambda found, device: None)
        for version, expected in [((7, 5), None), ((8, 0), module), ((7, 5), None)]:
            capability[weight.device] = version
            assert kernels_for(weight) is expected

    def test_not_on_a_gpu_of_amd(self, monkeypatch, weight):
        monkeypatch.setattr(engine_choice, "import_module", pytest.fail)
        monkeypatch.setattr(torch.version, "cuda", None)
        assert kernels_for(weight) is None

    def test_a_failure_warns_once(self, monkeypatch, weight):
        def failing(name):
            raise RuntimeError("Failed to find C compiler")

        monkeypatch.setattr(engine_choice, "import_module", failing)
        with pytest.warns(RuntimeWarning, match=r"Failed to find C compiler\). cuDNN computes"):
            assert kernels_for(weight) is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert kernels_for(weight) is None

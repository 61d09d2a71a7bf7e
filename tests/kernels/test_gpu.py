"""The recurrence on a GPU: its kernels, and where they compute.

Without a GPU, Triton's interpreter runs the kernels: install triton and numpy<2.4, and set
TRITON_INTERPRET=1.
"""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import pytest
import torch
from torch.testing import assert_close

from sk_han._kernels import engine
from sk_han._kernels.engine import using_engine
from sk_han.nn import BidirectionalGRU
from sk_han.nn._encoders import LARGEST_HIDDEN, _gpu_kernels
from tests.gpu import needs_gpu

LENGTHS = [3, 1, 7, 0, 2, 0, 40, *[5, 2] * 9]  # those with tokens are more than one program takes


@pytest.fixture
def gpu():
    if not find_spec("triton"):
        pytest.skip("needs Triton, which comes with PyTorch for CUDA")
    if not torch.cuda.is_available() and "TRITON_INTERPRET" not in os.environ:
        pytest.skip("needs a CUDA device, or TRITON_INTERPRET=1 for Triton's interpreter")
    return import_module("sk_han._kernels.gpu")


# Of Triton's interpreter.
@pytest.mark.filterwarnings("ignore:Conversion of an array:DeprecationWarning")
class TestKernels:
    @pytest.mark.gpu
    @pytest.mark.parametrize("lengths", [LENGTHS, [], [0, 0]], ids=["several", "none", "empty"])
    @pytest.mark.parametrize("hidden", [1, 5, 16, 50, LARGEST_HIDDEN])
    def test_states_and_gradients_match_pytorch(self, gpu, hidden, lengths):
        device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.manual_seed(7)
        encoder = BidirectionalGRU(input_size=3, hidden_size=hidden)
        index = torch.randint(11, (sum(lengths),))
        inputs, grad = torch.randn(11, 3), torch.randn(sum(lengths), 2 * hidden)
        lengths = torch.tensor(lengths, dtype=torch.int64)

        exact = BidirectionalGRU(3, hidden).double()
        exact.load_state_dict(encoder.state_dict())
        leaf = inputs.double().requires_grad_()
        states = exact(leaf, index, lengths)
        leaves = [leaf, *exact.parameters()]
        expected = [states, *torch.autograd.grad(states, leaves, grad.double())]

        encoder.to(device)
        leaf = inputs.to(device).requires_grad_()
        states = gpu.gru_states(leaf, *encoder._weights(), index.to(device), lengths)
        leaves = [leaf, *encoder.parameters()]
        results = [states, *torch.autograd.grad(states, leaves, grad.to(device))]
        results = [tensor.cpu().double() for tensor in results]
        assert_close(results[0], expected[0], rtol=0, atol=1e-6)
        assert_close(results, expected, rtol=1e-5, atol=1e-5)


@needs_gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_a_gpu_other_than_the_current_one_computes_the_same():
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
        assert _gpu_kernels(encoder.gru.weight_ih_l0) is not None
        found = self.states(encoder)
        # By default cuDNN rounds the factors of its products to 10 bits.
        with using_engine("torch"), torch.backends.cudnn.flags(allow_tf32=False):
            assert _gpu_kernels(encoder.gru.weight_ih_l0) is None
            assert_close(found, self.states(encoder), rtol=0, atol=1e-6)
        exact = self.states(encoder.double())
        assert_close(found.double(), exact, rtol=0, atol=1e-6)

    @pytest.mark.parametrize("lengths", [[3, 1], [6, -1]])
    def test_lengths_that_do_not_sum_to_the_tokens_are_refused(self, encoder, lengths):
        index = torch.zeros(5, dtype=torch.int64, device="cuda")
        with pytest.raises(ValueError, match="at least 0 and add up to 5 tokens; got"):
            encoder(torch.ones(1, 3, device="cuda"), index, torch.tensor(lengths))

    def test_larger_states_are_left_to_cudnn(self):
        encoder = BidirectionalGRU(3, LARGEST_HIDDEN + 1).to("cuda")
        assert _gpu_kernels(encoder.gru.weight_ih_l0) is None
        assert self.states(encoder).shape == (sum(LENGTHS), 2 * LARGEST_HIDDEN + 2)


class TestWhereTheyCompute:
    @pytest.fixture(autouse=True)
    def _nothing_loaded(self, monkeypatch):
        monkeypatch.setattr(engine, "_LOADED", {})
        monkeypatch.setattr(engine, "find_spec", lambda name: object())
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

    def test_gpu_kernels_are_not_loaded_on_a_cpu(self, monkeypatch):
        monkeypatch.setattr(engine, "gpu_kernels", pytest.fail)
        encoder, index = BidirectionalGRU(3, 5), torch.zeros(2, dtype=torch.int64)
        assert encoder(torch.ones(1, 3), index, torch.tensor([2])).shape == (2, 10)

    def test_gpu_kernels_need_cuda_triton_and_another_engine_than_torch(self, monkeypatch, weight):
        monkeypatch.setattr(engine, "import_module", pytest.fail)
        with using_engine("torch"):
            assert _gpu_kernels(weight) is None
        with monkeypatch.context() as amd:
            amd.setattr(torch.version, "cuda", None)
            assert _gpu_kernels(weight) is None
        monkeypatch.setattr(engine, "find_spec", lambda name: None)
        assert _gpu_kernels(weight) is None

    def test_gpu_kernels_are_tried_once_per_device(self, monkeypatch, weight):
        module, tried = ModuleType("kernels"), []
        monkeypatch.setattr(engine, "import_module", lambda name: module)
        module.check = tried.append
        assert _gpu_kernels(weight) is _gpu_kernels(weight) is module
        assert tried == [weight.device]

    def test_each_gpu_is_checked_for_its_own_compute_capability(self, monkeypatch, weight):
        module, capability = ModuleType("kernels"), {}
        monkeypatch.setattr(torch.cuda, "get_device_capability", capability.get)
        monkeypatch.setattr(engine, "import_module", lambda name: module)
        module.check = lambda device: None
        for version, expected in [((7, 5), None), ((8, 0), module), ((7, 5), None)]:
            capability[weight.device] = version
            assert _gpu_kernels(weight) is expected

    def test_a_failure_warns_once(self, monkeypatch, weight):
        def failing(name):
            raise RuntimeError("Failed to find C compiler")

        monkeypatch.setattr(engine, "import_module", failing)
        with pytest.warns(RuntimeWarning, match=r"Failed to find C compiler\). cuDNN computes"):
            assert _gpu_kernels(weight) is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert _gpu_kernels(weight) is None

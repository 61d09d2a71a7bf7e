"""Tests that need a GPU."""

import pytest
import torch


def needs_gpu(test):
    """Run a test where there is a GPU and the tests may see it."""
    reason = "needs a CUDA device and SK_HAN_TEST_GPU: make test-gpu"
    return pytest.mark.gpu(pytest.mark.skipif(not torch.cuda.is_available(), reason=reason)(test))

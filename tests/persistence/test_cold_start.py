"""What a new process does before the first prediction of a loaded model."""

import os
import subprocess
import sys

import pytest

from sk_han import save
from tests.tiny_models import fitted_classifier

# PyTorch's own optimizers load its compiler when the first one is made, which takes a second.
# A classifier needs neither of its siblings.
NOT_NEEDED = (
    "torch._dynamo",
    "torch._inductor",
    "sympy",
    "sk_han.tagging",
    "sk_han.translation",
)


def run_python(code, *arguments, **environment):
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)]
    done = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
    )
    return done.stdout.split()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.han"
    save(fitted_classifier(), path)
    return path


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["auto", "torch"])
def test_load_and_predict_make_no_optimizer_and_import_little(path, engine):
    code = f"""
import sys
import torch
made = []
torch.optim.Optimizer.__init__ = lambda self, *args, **kwargs: made.append(type(self).__name__)
from sk_han import load
model = load(sys.argv[1])
model.predict_proba(["A good film."])
print(*made, *(set({NOT_NEEDED}) & sys.modules.keys()))
"""
    assert run_python(code, path, SK_HAN_ENGINE=engine) == []

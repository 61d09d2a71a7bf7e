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
def test_load_and_predict_import_what_they_need_and_make_no_optimizer(path, engine):
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


FIT = """
from sk_han import HANClassifier
from sk_han.datasets import make_reviews
texts, labels = make_reviews(120, random_state=0)
classifier = HANClassifier(max_epochs=2, embedding_dim=8, word_hidden=4, warm_start=True)
"""
GOES_ON = """
classifier.fit(texts, labels, X_unlabelled=texts).partial_fit(texts, labels)
classifier.explain(texts[:2])
classifier.explain(texts[:2], method="gradient_attention")
"""
COMPUTES_STATES_AGAIN = """
from sk_han.nn import _encoders as encoders
encoders.MOST_STEPS_KEPT = 3
classifier.set_params(rnn="lstm").fit(texts, labels)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["auto", "torch"])
@pytest.mark.parametrize("work", [GOES_ON, COMPUTES_STATES_AGAIN], ids=["goes on", "states again"])
def test_fits_and_explanations_load_no_compiler(engine, work):
    loaded = f"import sys\nprint(*(set({NOT_NEEDED[:3]}) & sys.modules.keys()))"
    assert run_python(FIT + work + loaded, SK_HAN_ENGINE=engine) == []

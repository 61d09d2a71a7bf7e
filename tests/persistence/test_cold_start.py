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


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["auto", "torch"])
def test_a_fit_that_goes_on_and_explanations_load_no_compiler(engine):
    code = f"""
import sys
from sk_han import HANClassifier
from sk_han.datasets import make_reviews
texts, labels = make_reviews(120, random_state=0)
classifier = HANClassifier(max_epochs=2, embedding_dim=8, word_hidden=4, warm_start=True)
classifier.fit(texts, labels, X_unlabelled=texts)
classifier.partial_fit(texts, labels)
classifier.explain(texts[:2])
classifier.explain(texts[:2], method="gradient_attention")
print(*(set({NOT_NEEDED[:3]}) & sys.modules.keys()))
"""
    assert run_python(code, SK_HAN_ENGINE=engine) == []


@pytest.mark.thorough
def test_a_fit_that_computes_states_again_loads_no_compiler():
    code = f"""
import sys
from sk_han import HANClassifier
from sk_han.datasets import make_reviews
from sk_han.nn import _encoders as encoders
encoders.MOST_STEPS_KEPT = 3
texts, labels = make_reviews(120, random_state=0)
HANClassifier(max_epochs=1, embedding_dim=8, word_hidden=4, rnn="lstm").fit(texts, labels)
print(*(set({NOT_NEEDED[:3]}) & sys.modules.keys()))
"""
    assert run_python(code) == []


def cpu_seconds(code, *arguments, **environment):
    """Return the least CPU seconds of code in some new processes."""
    measured = f"""
import sys, time
start = time.process_time()
{code}
print(time.process_time() - start)
"""
    # What else runs on the processor can only lengthen them; the first fills caches.
    return min(float(run_python(measured, *arguments, **environment)[-1]) for _ in range(3))


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_load_and_predict_take_little_longer_than_the_import_of_what_they_need(path):
    needed = cpu_seconds("import skorch, numba")
    predict = "from sk_han import load; load(sys.argv[1]).predict_proba(['A good film.'])"
    for engine in ("torch", "numba"):
        assert cpu_seconds(predict, path, SK_HAN_ENGINE=engine) < 1.4 * needed

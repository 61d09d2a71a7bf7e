"""Choice of the engine, and what happens where kernels cannot be loaded."""

import os
import shutil
import subprocess
import sys

import pytest

FIT = """
import os, sys, warnings
import numpy as np
from sk_han import HANClassifier
from sk_han.datasets import make_reviews

def fit():
    texts, labels = make_reviews(40, random_state=0)
    model = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    return model.fit(texts, labels)

def warned_fit():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        return fit(), caught
"""


def run(code, cache, **environment):
    """Run code after `FIT` with a cache of its own; return what it prints."""
    process = subprocess.run(
        [sys.executable, "-c", FIT + code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), **environment},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Let two processes fill a cold cache at once; give it, and the engine of each."""
    cache = tmp_path_factory.mktemp("cache")
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", FIT + "print(fit().engine_)"],
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    return cache, [p.communicate(timeout=200)[0].strip() for p in processes]


@pytest.mark.thorough
class TestProcesses:
    @pytest.fixture(autouse=True)
    def _numba(self):
        pytest.importorskip("numba")

    @pytest.mark.parametrize(
        ("setup", "environment", "repair"),
        [
            # As if no folder could be written to.
            ("from numba.core.caching import CacheImpl as C\nC._locator_classes = []\n", {},
             "Set NUMBA_CACHE_DIR to a folder"),
            ("", {"NUMBA_DISABLE_JIT": "1"}, "NUMBA_DISABLE_JIT"),
        ],
        ids=["unwritable cache", "compiler off"],
    )  # fmt: skip
    def test_kernels_that_cannot_compile_mean_pytorch_and_one_warning(
        self, tmp_path, setup, environment, repair
    ):
        code = (
            setup
            + "model, caught = warned_fit()\n"
            + ("print(model.engine_, *(f'{c.category.__name__}: {c.message}' for c in caught))")
        )
        said = run(code, tmp_path, **environment)
        assert said.startswith("torch RuntimeWarning: ")
        assert said.count("RuntimeWarning") == 1
        assert repair in said

    def test_the_engine_of_pytorch_imports_no_numba(self, tmp_path):
        code = (
            "model = fit()\nmodel.predict(['Good.'])\nprint(model.engine_, 'numba' in sys.modules)"
        )
        assert run(code, tmp_path, SK_HAN_ENGINE="torch").split() == ["torch", "False"]

    def test_two_processes_may_share_a_cold_cache(self, filled):
        cache, engines = filled
        assert engines == ["numba", "numba"]
        assert run("print(fit().engine_)", cache).strip() == "numba"

    def test_damaged_files_of_the_cache_lose_no_fit(self, filled, tmp_path):
        shutil.copytree(filled[0], tmp_path, dirs_exist_ok=True)
        files = [file for file in tmp_path.rglob("*") if file.suffix in {".nbi", ".nbc"}]
        assert files
        for number, file in enumerate(files):
            content = file.read_bytes()
            file.write_bytes(content[: len(content) // 2] if number % 2 else b"nothing")
        said = run(
            "model, caught = warned_fit()\nprint(len(model.classes_), len(caught))", tmp_path
        )
        assert said.split() in (["2", "0"], ["2", "1"])

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs an operating system that forks")
    def test_a_forked_process_predicts_after_its_parent_used_threads(self, filled):
        said = run(
            "model = fit()\n"
            "texts, _ = make_reviews(400, random_state=1)\n"
            "expected = model.predict_proba(texts)\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    same = np.allclose(model.predict_proba(texts), expected, atol=1e-6)\n"
            "    again = fit()\n"
            "    os._exit(0 if same and again.engine_ == 'numba' else 1)\n"
            "print(os.waitpid(child, 0)[1])",
            filled[0],
            OMP_NUM_THREADS="2",
        )
        assert said.strip() == "0"

    def test_threads_can_fit_and_predict_with_a_cold_cache(self, tmp_path):
        said = run(
            "from concurrent.futures import ThreadPoolExecutor\n"
            "texts, _ = make_reviews(100, random_state=1)\n"
            "with ThreadPoolExecutor(4) as pool:\n"
            "    found = list(pool.map(lambda _: fit().predict_proba(texts), range(4)))\n"
            "print(max(abs(each - found[0]).max() for each in found) < 1e-5)",
            tmp_path,
            OMP_NUM_THREADS="2",
        )
        assert said.strip() == "True"

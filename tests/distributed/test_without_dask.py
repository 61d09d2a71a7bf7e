import sys

import pytest

from sk_han.distributed import predict, predict_proba


@pytest.mark.parametrize("function", [predict, predict_proba])
def test_without_dask_the_error_says_what_to_install(function, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ModuleNotFoundError) as caught:
        function("model.han", ["A text."])
    assert str(caught.value) == (
        f'sk_han.distributed.{function.__name__} needs dask: pip install "sk-han[dask]"'
    )

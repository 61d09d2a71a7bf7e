"""The file of one fit, and who may change it."""

import pytest

from sk_han.fitting.checkpoints.fit_checkpoints import FitCheckpoints
from sk_han.utils.atomic_write import replacing


@pytest.mark.parametrize(("writes", "n_left"), [(True, 0), (False, 1)])
def test_only_the_process_that_writes_deletes_what_a_killed_one_left(writes, n_left, tmp_path):
    checkpoints = FitCheckpoints(tmp_path, writes=writes)
    with replacing(tmp_path / "checkpoint.han") as file:
        unfinished = file.name
    with open(unfinished, "wb"):
        pass
    (tmp_path / "checkpoint.han").unlink()
    with checkpoints.callback("training").restoring() as state:
        assert state is None
    assert len(list(tmp_path.iterdir())) == n_left

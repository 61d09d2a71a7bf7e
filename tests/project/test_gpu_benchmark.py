"""The benchmark of GPUs, as far as a machine without one can try it."""

from __future__ import annotations

import sys

import gpu
import pytest
import torch

from sk_han import DocumentArray


def test_padding_changes_no_score_of_the_usual_network() -> None:
    documents = DocumentArray.from_nested([[[2, 3, 4], [5]], [[6]], [[2, 7], [3], [4, 5, 6, 7, 2]]])
    torch.manual_seed(0)
    network = gpu.UsualHAN(vocabulary_size=11, n_classes=3)

    def scores(some: DocumentArray) -> torch.Tensor:
        padded = torch.from_numpy(some.pad().astype("int64"))
        lengths = some.words_per_sentence, some.sentences_per_document
        return network(padded, *map(torch.from_numpy, lengths))

    alone = [scores(documents[i : i + 1]) for i in range(3)]
    torch.testing.assert_close(scores(documents), torch.cat(alone))


def test_without_a_gpu_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", [gpu.__file__])
    gpu.main()
    assert capsys.readouterr().out.startswith("There is no CUDA GPU here")

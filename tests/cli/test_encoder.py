"""A sentence encoder on the command line, by the name that makes it."""

import numpy as np

from sk_han.serving import Scorer
from tests.encoders_of_sentences import NAMED
from tests.opinions import LABELS, TEXTS

OTHER = NAMED.replace("Hash", "Other")


def test_predicting_needs_the_encoder_of_the_fit(run, table, tmp_path):
    rows = [(i, text, label) for i, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True))]
    table, model = table(rows), tmp_path / "model.han"
    small = [f"--set={name}=2" for name in ("embedding_dim", "word_hidden", "max_epochs")]
    code, _, told = run("fit", table, "-o", model, "--encoder", NAMED, *small)
    assert code == 0, told
    scorer = Scorer.load(model, encoder=NAMED)
    assert "vectors" in scorer.model_.pool.parts
    code, output, _ = run("predict", model, table, "--proba", "--encoder", NAMED)
    found = np.array([line.split(",")[1:] for line in output.splitlines()[1:]], dtype=float)
    np.testing.assert_allclose(found, scorer.predict_proba(TEXTS), rtol=0, atol=2e-6)
    page = ["-o", tmp_path / "page.html", "--force"]
    for command, options in {"evaluate": page, "explain": ["--rows", 1], "drift": []}.items():
        assert run(command, model, table, *options, "--encoder", NAMED)[0] == 0, command
        code, _, told = run(command, model, table, *options)
        assert code == 1
        assert "the encoder HashEncoder of tests makes of sentences" in told
        assert "--encoder" in told
    code, _, told = run("predict", model, table, "--encoder", OTHER)
    assert code == 1
    assert "encoder= is OtherEncoder of tests" in told
    assert "makes no encoder" in run("fit", table, "-o", model, "--encoder", "usem3")[2]

"""Messages advise options of the command line, and nothing in Python."""

import pytest

from sk_han.cli.repairs import BY_OPTIONS
from tests.cli.test_fitting import SMALL
from tests.tiny_models import LABELS, TEXTS

ROWS = list(zip(TEXTS, LABELS.tolist(), strict=True))
LONG = [(text, f"{text} It was day number {i} of the stay.") for i, (text, _) in enumerate(ROWS)]
SPELT = [(text, label.title() if i % 4 else label) for i, (text, label) in enumerate(ROWS)]
OTHER = {"pos": "neg", "neg": "pos"}
COPIES = [
    (f"{text} One two three four five six seven eight {i}.", label)
    for i, (text, label) in enumerate(2 * ROWS)
]
COPIES += [(text, OTHER[label]) for text, label in COPIES]

# What is said: the rows of a table, and the rest of the command.
CASES = {
    "has no column 'texts'; options such as --text and --label name columns. It has": (
        ROWS,
        "--text texts",
    ),
    "Or give it by --sep.": (b"text|label\nGood.|pos\n", ""),
    "give the separator of its columns by --sep": (None, "fit data.txt -o m.han"),
    "perhaps by --encoding cp1252": (b"text,label\ncaf\xe9,pos\n", ""),
    "'label' is blank. Leave the line out.": ([("Good.", "")], ""),
    "true or false. fit --separator reads several labels.": (b'{"text":"a","label":["b"]}', ""),
    "a mapping of words to vectors. Files need Python.": (ROWS, "--set embedding_init=a.txt"),
    "Give --validation or more": (ROWS, "--set n_iter_no_change=2 --set validation_fraction=None"),
    "--label holds a single class": ([(text, "pos") for text in TEXTS], ""),
    "labels is a class of the model. --label holds 'a', 'b'": (None, "report {model} other.csv"),
    "Are these the texts? --text and --label name the columns.": (LONG, ""),
    "with another label: nothing can get both right. Check the labels; sk-han audit shows all of "
    "them.": (COPIES, "--hold-out 0.2 held.csv"),
    "If they are the same, write them in one way.": (SPELT, ""),
    "use the probabilities of predict --proba; --separator reads several labels": (
        ROWS,
        "--set threshold=0.3",
    ),
    "Try a lower --set tokenizer__min_df": (ROWS, "--set tokenizer__min_df=1000"),
    "absent; make it first.": (ROWS, "-o absent/m.han"),
}


@pytest.mark.filterwarnings("always")  # they are told, and not raised as errors
@pytest.mark.parametrize(("said", "case"), CASES.items(), ids=CASES)
def test_options_are_advised(run, table, model, tmp_path, monkeypatch, said, case):
    rows, rest = case
    monkeypatch.chdir(tmp_path)
    table([("Good.", "a"), ("Bad.", "b")], "other.csv", ("text", "label"))
    name = "data.csv"
    if isinstance(rows, bytes):
        name = "data.jsonl" if rows.startswith(b"{") else name
        (tmp_path / name).write_bytes(rows)
    elif rows is not None:
        table(rows, name, ("text", "label"))
    commands = [each.split() for each in rest.format(model=model).split("&&")]
    if rows is not None:
        commands[0] = ["fit", name, "-o", "m.han", *SMALL, *commands[0]]
    assert said in [run(*command)[2] for command in commands][-1]


def test_each_repair_has_a_case():
    for pattern, said in BY_OPTIONS.items():
        *_, written = said.split(r"\1")
        assert any(written.strip() in case for case in CASES), pattern

"""What `make demo` runs: learn from real text, compare with linear models, explain.

The texts are docstrings of the installed packages, with names masked: which package is each from?
Prints accuracies, log losses and seconds, explains two texts and writes explained.html.
"""

import ast
import importlib.util
import re
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, recall_score
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import make_pipeline

from sk_han import HANClassifier

N_TRAINED, N_TESTED = 1500, 1500

# What the texts must not contain: the names of the packages, and how their examples write them.
NAMES = re.compile(
    r"[\w-]*(?:numpy|scipy|sklearn|scikit|torch)[\w-]*|\b(?:np|npt)\b|\bsp(?=\.)", re.I
)


def docstrings(package):
    """Yield the docstrings of public functions and classes with the files that they are from."""
    folder = Path(importlib.util.find_spec(package).origin).parent
    for path in sorted(folder.rglob("*.py")):
        if {"tests", "test", "externals", "_vendor"} & set(path.relative_to(folder).parts):
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except SyntaxError:  # a file for a newer Python
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
                text = NAMES.sub("package", ast.get_docstring(node) or "")
                if 20 <= len(text.split()) <= 1000:
                    yield text, str(path)


documented = {}  # by text: the package and the file
for package in ("numpy", "scipy", "sklearn", "torch"):
    for text, path in docstrings(package):
        documented.setdefault(text, (package, path))
texts = np.array(list(documented), dtype=object)
packages, files = (np.array(column) for column in zip(*documented.values(), strict=True))
print(f"{len(texts):,} docstrings. The task: which package is each from?")

# Functions of one file share sentences, so a whole file is for training or for testing.
split = GroupShuffleSplit(n_splits=1, test_size=0.4, random_state=0)
sides = next(split.split(texts, packages, files))
train, test = (np.random.RandomState(0).permutation(side) for side in sides)
train, test = train[:N_TRAINED], test[:N_TESTED]
print(f"{len(train):,} texts to learn from, {len(test):,} of other files to test. The first one:\n")
print(f"  {packages[train[0]]}: {' '.join(texts[train[0]].split())[:300]}\n")


def linear(strength, **tokens):
    """Return the usual linear model on words and pairs of words."""
    tfidf = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2, **tokens)
    return make_pipeline(tfidf, LogisticRegression(C=strength, max_iter=1000))


models = {
    "the most frequent package": DummyClassifier(),
    "TF-IDF + logistic regression": linear(10),
    "  punctuation too, C=100": linear(100, token_pattern=r"\w+|[^\w\s]"),
    "HANClassifier": HANClassifier(random_state=0, verbose=1),
}
rows = []
for name, model in models.items():
    start = perf_counter()
    # HANClassifier holds some texts out, which should be of other files, too.
    groups = {"groups": files[train]} if name == "HANClassifier" else {}
    model.fit(texts[train], packages[train], **groups)
    seconds = perf_counter() - start
    probabilities = model.predict_proba(texts[test])
    found = model.classes_[probabilities.argmax(axis=1)]
    accuracy = accuracy_score(packages[test], found)
    loss = log_loss(packages[test], probabilities)
    recalls = recall_score(packages[test], found, average=None)
    rows.append((name, accuracy, loss, seconds, *recalls))
*_, rival, han = rows
model = models["HANClassifier"]

print("\nOn texts of the test files; behind the seconds of the fit, the share of each package's")
print("texts that is recognized:\n")
heads = ["accuracy", "log loss", "seconds", *model.classes_]
print(f"{'':28}" + "".join(f"{head:>10}" for head in heads))
for name, accuracy, loss, seconds, *recalls in rows:
    shares = "".join(f"{share:10.3f}" for share in recalls)
    print(f"{name:28}{accuracy:10.3f}{loss:10.3f}{seconds:10.1f}{shares}")
better = [name for name, a, b in zip(model.classes_, rival[4:], han[4:], strict=True) if a > b]
points, times = 100 * (han[1] - rival[1]), han[3] / rival[3]
print("\nHANClassifier against the better linear model:", end=" ")
print(f"{points:+.1f} points of accuracy, {times:.0f} times the seconds.")
if better:
    print(f"The linear model recognizes more texts of {' and '.join(better)}.")

# Without tables of parameters, which are no sentences to read.
prose = [row for row in test if "---" not in texts[row] and len(texts[row].split()) < 80][:40]
explanations = model.explain(texts[prose], y_true=packages[prose])
print("\nWhy? What sentences and words did for the package predicted, in one of the test texts:\n")
print(explanations[0])
print("\nAnd in the surest mistake of forty:\n")
print(explanations.mistakes()[0])
explanations.to_html("explained.html")
print("\nAll forty, coloured, are in explained.html: open it in a browser.")

"""Draw accuracy and seconds by the number of labels, from what benchmarks/peers.py has stored."""

import json
from pathlib import Path
from statistics import mean

import matplotlib as mpl
from matplotlib import pyplot as plt

mpl.use("Agg")
mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "learning curves", "font.size": 9}
here = Path(__file__).parent
rows = json.loads((here.parent / "benchmarks/results/peers.json").read_text("utf-8"))["rows"]
corpora = {"imdb": "IMDB reviews", "20news": "20 newsgroups", "airline": "airline tweets"}
systems = {
    "tfidf": ("TF-IDF(1-2) + LR", "#888888", "s"),
    "minilm": ("MiniLM-L6, frozen, + LR", "#d95f02", "^"),
    "han": ("HANClassifier", "#1f77b4", "o"),
    "han-use": ("HANClassifier, and USE as encoder", "#2ca02c", "v"),
    "han-texts": ("HANClassifier, and texts without labels", "#0b3c6f", "D"),
}
figure, axes = plt.subplots(2, 3, figsize=(8, 4.6), sharex=True, layout="constrained")
for (corpus, title), (score, seconds) in zip(corpora.items(), axes.T, strict=True):
    score.set_title(title)
    for system, (label, color, marker) in systems.items():
        samples: dict[int, list[tuple[float, float]]] = {}
        for row in rows:
            if (row["corpus"], row["system"]) == (corpus, system) and row["accuracy"] is not None:
                found = row["accuracy"], max(row["fit, CPU s"], 0.1)
                samples.setdefault(row["documents"], []).append(found)
        sizes = sorted(samples)
        means = [[*map(mean, zip(*samples[size], strict=True))] for size in sizes]
        accuracies, costs = zip(*means, strict=True)
        style = {"color": color, "marker": marker, "markersize": 4}
        score.plot(sizes, accuracies, label=label, **style)
        seconds.plot(sizes, costs, **style)
    seconds.set(xscale="log", yscale="log", xlabel="labelled documents", ylim=(0.07, 400))
    seconds.set_xticks([100, 300, 1000, 5000], ["100", "300", "1,000", "5,000"], minor=False)
    seconds.set_xticks([], minor=True)
    seconds.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    for one in (score, seconds):
        one.grid(color="#dddddd", linewidth=0.6)
        one.spines[["top", "right"]].set_visible(False)
axes[0, 0].set_ylabel("accuracy, %")
axes[1, 0].set_ylabel("fit, CPU seconds")
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
figure.savefig(here / "learning_curves.svg", metadata={"Date": None, "Creator": None})

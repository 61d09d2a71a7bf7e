"""A fitted model: what classifier, Scorer, explanations and files have in common."""

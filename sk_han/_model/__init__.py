"""The fitted model, which estimators, Scorer, explanations and files share, and its statistics."""

"""Contributions of words and sentences as numbers, whatever model they explain; NumPy alone."""

"""Engines: recurrence and attention as autograd functions with a hand-written backward."""

"""Encoders: recurrent networks over ragged sequences."""

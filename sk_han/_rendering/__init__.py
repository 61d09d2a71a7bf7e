"""Explanations as HTML, terminal text, figures and tables: functions of data."""

"""Measures the cost of predictions inside the database, in one run on one machine."""

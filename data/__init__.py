"""Flights to try pgboost on: a generator, a loader by COPY, a reader of the Kaggle files."""

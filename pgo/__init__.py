"""Profile-guided optimisation of pgboost's library, and what it is worth: `make pgo`."""

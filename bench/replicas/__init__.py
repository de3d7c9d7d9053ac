"""A primary and two hot standbys on this machine: what predictions cost, what deploys and a loss do."""

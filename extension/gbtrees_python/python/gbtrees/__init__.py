"""Gradient-boosted trees of any library, evaluated with its bits and without it.

>>> model = gbtrees.Model("model.ubj")
>>> model.predict(X)
>>> model.contributions(X, n_jobs=-1)
"""

from gbtrees._gbtrees import GbtreesError, __version__
from gbtrees.model import Model

__all__ = ["GbtreesError", "Model", "__version__"]

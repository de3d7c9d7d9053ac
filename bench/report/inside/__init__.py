"""The page of what predictions cost inside the database, and the README's part of it.

Made from what one `make speed` left: inside.json (speed/record.py).
"""

from bench.report.inside.page import MEASURED, page, part

__all__ = ["MEASURED", "page", "part"]

"""These tests take minutes and are not part of make test: make test-long TIMES=10.

Counts and seconds grow with TIMES. Each database has both extensions; the separate server of a
module is that of tests/extension/lifecycle.
"""

from tests.extension.lifecycle.conftest import spare
from tests.extension.train.conftest import dbname

__all__ = ["dbname", "spare"]

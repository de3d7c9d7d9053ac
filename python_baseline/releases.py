"""Which XGBoost the service predicts with: the installed one, or the one that is pinned for training in SQL.

Releases 3.1 to 3.3 walk all trees at each call to find the deepest; 3.4 does not. pip gives Python 3.11
a release of the former kind, since 3.4 asks for 3.12 in its metadata. Its code runs on 3.11 all the
same: the wheel holds pure Python, and a library that knows no Python and is reached by ctypes. So
`pinned` takes the package that tools/toolchain/libxgboost.sh has unpacked. A process has one XGBoost, the
first that is imported.
"""

import importlib
import sys
from pathlib import Path
from types import ModuleType

UNPACKED = Path(__file__).resolve().parent.parent / ".build" / "xgboost"
NAMES = ("installed", "pinned")


def load(name: str) -> ModuleType:
    """The package xgboost of that choice."""
    if name not in NAMES:
        raise SystemExit(f"no xgboost {name!r}: there are {', '.join(NAMES)}")
    if name == "pinned":
        if not (UNPACKED / "xgboost").is_dir():
            raise SystemExit("the pinned xgboost is not in .build/xgboost: run make install")
        # Before the installed one, and only once.
        if str(UNPACKED) not in sys.path:
            sys.path.insert(0, str(UNPACKED))
    package = importlib.import_module("xgboost")
    if Path(package.__file__).is_relative_to(UNPACKED) != (name == "pinned"):
        raise SystemExit(f"another xgboost than the {name} one has been imported before")
    return package


if __name__ == "__main__":
    print(load(sys.argv[1]).__version__)

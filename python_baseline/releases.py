"""The service's XGBoost: the installed release, or the one pinned for training in SQL.

Releases 3.1 to 3.3 walk all trees at each call to find the deepest; 3.4 does not. On Python 3.11 pip installs
one of the former, since 3.4 requires 3.12 in its metadata. Its code runs on 3.11 nevertheless: the wheel
holds pure Python and a library called by ctypes. So `pinned` imports the package unpacked by
tools/toolchain/libxgboost.sh. A process has one XGBoost, the first imported.
"""

import importlib
import sys
from pathlib import Path
from types import ModuleType

UNPACKED = Path(__file__).resolve().parent.parent / ".build" / "xgboost"
NAMES = ("installed", "pinned")


def load(name: str) -> ModuleType:
    """Imports the package xgboost of that choice."""
    if name not in NAMES:
        raise SystemExit(f"no xgboost {name!r}: there are {', '.join(NAMES)}")
    if name == "pinned":
        if not (UNPACKED / "xgboost").is_dir():
            raise SystemExit("the pinned xgboost is not in .build/xgboost: run make install")
        # Before the installed one, once.
        if str(UNPACKED) not in sys.path:
            sys.path.insert(0, str(UNPACKED))
    package = importlib.import_module("xgboost")
    if Path(package.__file__).is_relative_to(UNPACKED) != (name == "pinned"):
        raise SystemExit(f"another xgboost than the {name} one has been imported before")
    return package


if __name__ == "__main__":
    print(load(sys.argv[1]).__version__)

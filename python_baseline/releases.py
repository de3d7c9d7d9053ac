"""The service's XGBoost: the release that is pinned for training in SQL.

Releases 3.1 to 3.3 walk all trees at each call to find the deepest; 3.4 does not. On Python 3.11 pip installs
one of the former, since 3.4 requires 3.12 in its metadata. Its code runs on 3.11 nevertheless: the wheel
holds pure Python and a library called by ctypes. So the package is imported that
tools/toolchain/libxgboost.sh unpacks. A process has one XGBoost, the first imported.
"""

import importlib
import sys
from pathlib import Path
from types import ModuleType

UNPACKED = Path(__file__).resolve().parent.parent / ".build" / "xgboost"


def load() -> ModuleType:
    """Imports the pinned package xgboost."""
    if not (UNPACKED / "xgboost").is_dir():
        raise SystemExit("the pinned xgboost is not in .build/xgboost: run make install")
    # Before the installed one, once.
    if str(UNPACKED) not in sys.path:
        sys.path.insert(0, str(UNPACKED))
    package = importlib.import_module("xgboost")
    if not Path(package.__file__).is_relative_to(UNPACKED):
        raise SystemExit("another xgboost than the pinned one has been imported before")
    return package


if __name__ == "__main__":
    print(load().__version__)

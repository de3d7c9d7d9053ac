"""`python -m python_baseline MODE --model FILE`: runs the service until it is interrupted.

Further settings come from the environment (python_baseline.settings).
"""

import argparse
import os
from dataclasses import replace
from pathlib import Path

from python_baseline.modes import MODES, command
from python_baseline.settings import PREFIX, Settings


def main() -> None:
    """Replaces this process by the Gunicorn of the mode."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("--model", required=True, help="the model's file")
    parser.add_argument("--bind", default="127.0.0.1:8000", help="default: %(default)s")
    arguments = parser.parse_args()
    if not Path(arguments.model).is_file():
        parser.error(f"no file {arguments.model}")
    model = {PREFIX + "MODEL": arguments.model}
    settings = replace(Settings.read(os.environ | model), model=os.path.realpath(arguments.model))
    started, variables = command(arguments.mode, arguments.bind, settings)
    os.execve(started[0], started, os.environ | variables)


if __name__ == "__main__":
    main()

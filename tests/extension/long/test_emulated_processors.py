"""Emulated processors give the same results: one without AVX2, and one with AVX2 by QEMU's own code.

QEMU knows no AVX-512.
"""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

EXTENSION = Path(__file__).resolve().parents[3] / "extension"
PROCESSORS = {"Nehalem": "portable", "max": "avx2, portable"}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its kernels are those of x86-64")
@pytest.mark.parametrize("processor", PROCESSORS)
def test_golden_models_have_the_oracles_bits(processor: str) -> None:
    qemu = shutil.which("qemu-x86_64-static") or pytest.fail(
        "no QEMU: apt-get install qemu-user-static"
    )
    done = subprocess.run(
        [
            "cargo", "test", "--quiet", "--locked", "--release", "-p", "gbtrees", "--target-dir",
            "target/engine-tests", "--test", "engine", "golden_many_rows", "--", "--nocapture",
        ],
        cwd=EXTENSION, capture_output=True, text=True, check=False,
        env=os.environ
        | {"CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER": f"{qemu} -cpu {processor}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (rows, kernels) = re.search(r"(\d+) rows of \d+ models by (.*)", done.stdout).groups()
    print(f"{processor}: {rows} rows by {kernels}")
    assert kernels == PROCESSORS[processor]

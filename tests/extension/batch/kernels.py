"""The kernels that this machine's processor has, by its own list of flags, with which the extension's
answers are compared."""

from pathlib import Path

# The flags that each kernel needs; best first.
NEEDS = {
    "avx512": {
        "avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi", "popcnt"
    },
    "avx512bw": {"avx512f", "avx512bw", "avx512dq", "avx512vl"},
    "avx2": {"avx2"},
    "neon": {"asimd"},
    "portable": set(),
}  # fmt: skip


def flags() -> set[str]:
    """The first processor's features, from the operating system."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, words = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return set(words.split())
    return set()


def present() -> list[str]:
    """The kernels that this machine can run, best first."""
    return [kernel for kernel, needs in NEEDS.items() if needs <= flags()]


def missing() -> list[str]:
    """The others."""
    return [kernel for kernel in NEEDS if kernel not in present()]

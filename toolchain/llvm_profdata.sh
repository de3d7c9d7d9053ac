#!/usr/bin/env bash
# Prints the path of an llvm-profdata that can read what this Rust compiler's instrumentation writes.
#
# The format of raw profiles changes between LLVM's major versions, so the tool must be of the compiler's own.
# RUSTC and LLVM_PROFDATA are taken where they are set. Debian's package of the tool is installed where
# it is lacking, which takes root; the compiler's component llvm-tools has one as well.
set -euo pipefail
. "$(dirname "$0")/ground.sh"

rustc=${RUSTC:-rustc}
wanted=$("$rustc" -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
[ -n "$wanted" ] || die "$rustc does not say of which LLVM it is made"

version_of() { "$1" --version 2>/dev/null | sed -n 's/.*LLVM version \([0-9]*\).*/\1/p'; }

fits() { [ "$(version_of "$1" || true)" = "$wanted" ]; }

if [ -n "${LLVM_PROFDATA:-}" ]; then
    fits "$LLVM_PROFDATA" ||
        die "LLVM_PROFDATA, $LLVM_PROFDATA, is not of LLVM $wanted, as the compiler is" \
            "set it to one that is, or leave it unset"
    echo "$LLVM_PROFDATA"
    exit
fi

candidates() {
    compgen -G "$("$rustc" --print sysroot)/lib/rustlib/*/bin/llvm-profdata" || true
    echo "/usr/lib/llvm-$wanted/bin/llvm-profdata"
    command -v "llvm-profdata-$wanted" llvm-profdata || true
}

# The first that fits; nothing where none does.
found() {
    local candidate
    while read -r candidate; do
        if fits "$candidate"; then
            echo "$candidate"
            return
        fi
    done < <(candidates)
}

program=$(found)
if [ -z "$program" ]; then
    "$root/toolchain/packages.sh" "llvm-$wanted" >&2
    program=$(found)
fi
[ -n "$program" ] || die "the package llvm-$wanted brought no llvm-profdata of LLVM $wanted"
echo "$program"

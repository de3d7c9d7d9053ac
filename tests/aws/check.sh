#!/usr/bin/env bash
# Checks bench/aws and bench/provision: format, shell, the static checker, and the role scripts on hosts of this machine.
#
# Needs root, Debian's debootstrap, systemd-container, iptables and shellcheck, and terraform, and takes about fifteen
# minutes, most of them for the extensions' build on a fresh host. With the word "quick" only what needs
# no host: seconds, and no root.
set -euo pipefail
cd "$(dirname "$0")/../.."

checker=.build/checkov
pinned=tests/aws/checkov.txt

make_checker() {
    cmp -s "$pinned" "$checker/pinned.txt" && return
    echo "==> making the Python environment $checker"
    python3 -m venv "$checker"
    "$checker/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$pinned"
    cp "$pinned" "$checker/pinned.txt"
}

echo "==> terraform fmt"
terraform -chdir=bench/aws fmt -check -diff -recursive
echo "==> shellcheck"
shellcheck --external-sources --source-path=SCRIPTDIR bench/provision/*.sh bench/aws/run tests/aws/check.sh
echo "==> checkov"
make_checker
# Its rules are in the package; nothing is asked of a server.
"$checker/bin/checkov" --directory bench/aws --framework terraform --quiet --compact --skip-download

[ "${1:-}" = quick ] || export PGBOOST_TEST_HOSTS=1
.venv/bin/pytest -q tests/provision

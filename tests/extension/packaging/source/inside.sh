#!/usr/bin/env bash
# Run by tests/extension/packaging/source/run.sh in the fresh Debian.
set -euo pipefail

received() { awk -F'[: ]+' '/:/ && $2 != "lo" { sum += $3 } END { print int(sum / 1e6) }' /proc/net/dev; }
as_postgres() { (cd /test && runuser -u postgres -- "$@"); }
query() { as_postgres psql -X -q -A -t -v ON_ERROR_STOP=1 -c "$1"; }

# step NAME COMMAND...: runs it, and says its seconds and what was received meanwhile.
step() {
    local name=$1 began=$SECONDS before
    shift
    before=$(received)
    "$@"
    printf '==> %s: %d s, %d MB received\n' "$name" $((SECONDS - began)) $(($(received) - before))
}

# The README's requirements: toolchains for Rust, Python and C.
install_packages() {
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends ca-certificates gcc git libc6-dev make python3
}

install_rust() {
    /test/rustup-init -y -q --no-modify-path --profile minimal --default-toolchain none
    # rustup fetches the toolchain that the repository names.
    rustc --version
}

predict() {
    pg_createcluster 15 main >/dev/null
    pg_ctlcluster 15 main start
    query "CREATE EXTENSION pgboost_train CASCADE"
    query "SELECT load_model('price', '\\x$(od -An -v -tx1 /test/price.ubj | tr -d ' \n')')" >/dev/null
    found=$(query "SELECT predict('price', 60, 4, 1)")
    pg_ctlcluster 15 main stop
    [ "$found" = 110 ] || { echo "error: predict = $found, expected 110" >&2; exit 1; }
}

quietly() { "$@" >/tmp/log 2>&1 || { cat /tmp/log >&2; exit 1; }; }

export PATH=/root/.cargo/bin:$PATH
cd /root/pgboost
step "Debian's packages" quietly install_packages
step "Rust" quietly install_rust
step "make setup" make setup
step "make install" make install
step "a prediction" predict
# In another clone, where nothing is built: with the steps before `make install` this is the demo's way from
# nothing.
git clone --quiet /root/pgboost /root/demo
cd /root/demo
step "make demo" make demo
make demo-stop
# The files that keep services and clusters from starting during the installation are removed.
for left in /usr/sbin/policy-rc.d /etc/postgresql-common/createcluster.d; do
    [ ! -e "$left" ] || { echo "error: left behind: $left" >&2; exit 1; }
done
# Sizes in MB: sources with what was built, Rust, and the crates.
du -sm /root/pgboost /root/.rustup /root/.cargo
printf '==> all of it: %d s on %d cores\n' "$SECONDS" "$(nproc)"

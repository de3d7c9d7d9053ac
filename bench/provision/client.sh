#!/usr/bin/env bash
# Makes this host the client: pgbench, wrk, vegeta, and Python for the loaders.
set -euo pipefail
# shellcheck source=role.sh
. "$(dirname "$0")/role.sh"

begin client "$@"
install_toolchains
make --silent -C "$root" bench-packages venv
"$root/tools/toolchain/vegeta.sh"
end

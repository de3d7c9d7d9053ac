#!/usr/bin/env bash
# Makes this host the server: PostgreSQL 15 with the extensions, PgBouncer, and the microservice's Python.
#
# The first time takes some minutes, most of them for compiling the extensions.
set -euo pipefail
# shellcheck source=role.sh
. "$(dirname "$0")/role.sh"

begin server "$@"
install_toolchains
make --silent -C "$root" bench-install
"$root/bench/systems/asgi/build.sh"
end

#!/usr/bin/env bash
# Runs a command with a Docker engine and its plugin compose, and with the base images where those cannot be
# pulled.
#
#     tests/bench/compose/with-engine.sh .venv/bin/pytest tests/bench/compose
#
# An engine that runs is used as it is. Where none does, root starts Debian's with separate files in
# ENGINE_DIR (default: .build/docker), and stops it by its process id when the command has ended; its images
# stay there for the next time. It leaves the machine's firewall and routing alone, so images are built with
# the machine's own network, which BUILD_NETWORK=host says to docker-compose.yml.
set -euo pipefail
cd "$(dirname "$0")/../../.."
. tools/toolchain/env.sh

compose_version=v2.40.3
files=${ENGINE_DIR:-$root/.build/docker}
base_images=(debian:bookworm-slim rust:1.96-bookworm)
start_seconds=60
engine=
sockets=

stop_engine() {
    # Twice: a second signal while the first is heeded must not leave the engine behind.
    trap '' INT TERM
    if [ -n "$engine" ]; then
        kill "$engine" 2>/dev/null || true
        wait "$engine" 2>/dev/null || true
    fi
    [ -z "$sockets" ] || rm -rf "$sockets"
}

install_engine() {
    local packages=(docker.io iptables)
    command -v debootstrap >/dev/null || packages+=(debootstrap)
    if command -v dockerd >/dev/null && [ ${#packages[@]} = 2 ]; then return; fi
    command -v apt-get >/dev/null || die "no Docker engine runs and there is no apt-get to install one"
    say "installing ${packages[*]}"
    # Debian's package starts and enables the engine; the one here is this script's own.
    local policy=/usr/sbin/policy-rc.d made=
    [ -e "$policy" ] || { printf '#!/bin/sh\nexit 101\n' >"$policy"; chmod +x "$policy"; made=$policy; }
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}" >/dev/null
    [ -z "$made" ] || rm -f "$made"
    if command -v systemctl >/dev/null; then
        systemctl --quiet disable docker.service docker.socket containerd.service || true
    fi
}

start_engine() {
    local second
    say "starting a Docker engine in ${files#"$root"/}"
    mkdir -p "$files/data"
    # A socket's path is short.
    sockets=$(mktemp -d)
    dockerd --data-root "$files/data" --exec-root "$sockets/exec" --pidfile "$sockets/pid" \
        --host "unix://$sockets/docker.sock" --bridge none --iptables=false --ip6tables=false --ip-forward=false \
        >"$files/dockerd.log" 2>&1 &
    engine=$!
    trap stop_engine EXIT
    export DOCKER_HOST=unix://$sockets/docker.sock BUILD_NETWORK=host COMPOSE_BAKE=false
    for ((second = 0; second < start_seconds; second++)); do
        ! docker info >/dev/null 2>&1 || return 0
        kill -0 "$engine" 2>/dev/null || break
        sleep 1
    done
    tail -n 20 "$files/dockerd.log" >&2
    die "the Docker engine did not start"
}

# Debian 12 has compose 1 only, so the plugin is built from its source, which Go fetches and checks.
build_compose() {
    local plugins=$files/config/cli-plugins source
    export DOCKER_CONFIG=$files/config
    [ ! -x "$plugins/docker-compose" ] || return 0
    command -v go >/dev/null || die "docker has no plugin compose and there is no Go to build it" \
        "install the package docker-compose-plugin of Docker's own, or Go 1.24 or later"
    say "building the plugin compose $compose_version, which takes some minutes"
    mkdir -p "$plugins"
    source=$(mktemp -d)
    (
        cd "$source"
        go mod init plugin
        go get "github.com/docker/compose/v2/cmd@$compose_version"
        go build -trimpath -ldflags "-s -w -X github.com/docker/compose/v2/internal.Version=$compose_version" \
            -o "$plugins/docker-compose" github.com/docker/compose/v2/cmd
    ) >"$files/compose.log" 2>&1 || { tail -n 20 "$files/compose.log" >&2; die "the plugin could not be built"; }
    rm -rf "$source"
}

# Images that can be pulled are pulled by the build itself.
make_base_images() {
    local image missing=()
    for image in "${base_images[@]}"; do
        docker image inspect "$image" >/dev/null 2>&1 ||
            docker pull --quiet "$image" >/dev/null 2>&1 || missing+=("$image")
    done
    [ ${#missing[@]} = 0 ] || bench/compose/base-images.sh "${missing[@]}"
}

if ! docker info >/dev/null 2>&1; then
    [ "$(id -u)" = 0 ] || die "no Docker engine runs" "start one, or run this as root, which starts a separate one"
    install_engine
    start_engine
fi
docker compose version >/dev/null 2>&1 || build_compose
make_base_images
"$@"

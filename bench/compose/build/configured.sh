#!/bin/sh
# Runs a command of an image's build with what the network around it needs, which comes as build secrets:
#
#     ca             certificates, in PEM, that are trusted in addition to the system's
#     pip_conf       pip's configuration: another index, say
#     cargo_config   cargo's: another registry, say
#
# Each may be empty or absent. All of it is gone when the command ends, so that no layer holds any; the
# proxy's variables (http_proxy and the like) are build arguments that the engine knows by itself.
set -eu

secrets=/run/secrets
made=$(mktemp -d)
cargo_settings=${CARGO_HOME:-/usr/local/cargo}/config.toml
linked=no

clean() {
    rm -rf "$made"
    [ $linked = no ] || rm -f "$cargo_settings"
}

trust_ca() {
    # Absent until the package ca-certificates is there; what asks by plain http needs none.
    cat /etc/ssl/certs/ca-certificates.crt >"$made/bundle" 2>/dev/null || true
    cat "$secrets/ca" >>"$made/bundle"
    export SSL_CERT_FILE="$made/bundle" PIP_CERT="$made/bundle" CARGO_HTTP_CAINFO="$made/bundle"
    printf 'Acquire::https::CAInfo "%s";\n' "$made/bundle" >"$made/apt"
    export APT_CONFIG="$made/apt"
    # apt fetches as a separate user.
    chmod -R a+rX "$made"
}

configure_cargo() {
    [ ! -e "$cargo_settings" ] || { echo "error: $cargo_settings is there already" >&2; exit 1; }
    linked=yes
    ln -s "$secrets/cargo_config" "$cargo_settings"
}

trap clean EXIT
[ ! -s "$secrets/ca" ] || trust_ca
[ ! -s "$secrets/pip_conf" ] || export PIP_CONFIG_FILE="$secrets/pip_conf"
[ ! -s "$secrets/cargo_config" ] || configure_cargo
"$@"

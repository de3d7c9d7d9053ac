#!/usr/bin/env bash
# Makes the images that the others are built from, where no registry of images can be reached:
#
#     bench/compose/base-images.sh [IMAGE...]     default: debian:bookworm-slim rust:1.96-bookworm
#
# debian:SUITE-slim comes from the Debian archive by debootstrap; DEBIAN_MIRROR names another
# than debootstrap's own. rust:VERSION-SUITE holds the toolchain of this machine, which must be of that
# version, where the official image has it: the build copies it from there and takes nothing else of that
# image. An image that the engine has already is left alone. They are stand-ins: what is pulled later replaces
# them.
set -euo pipefail

say() { printf '==> %s\n' "$*"; }

die() {
    printf 'error: %s\n' "$1" >&2
    exit 1
}

# Removes files that the slim image does not have.
slim_down() {
    local root=$1
    find "$root/usr/share/doc" -type f ! -name copyright -delete
    rm -rf "$root"/usr/share/{man,info,locale,lintian}/* "$root"/var/cache/apt/*.bin \
        "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/var/log/{apt,*.log}
    # The copy of the build machine's names and resolver is no part of an image.
    : >"$root/etc/hostname"
    : >"$root/etc/resolv.conf"
}

# Keeps packages that are installed later as slim as these, and their installation quick.
configure() {
    local root=$1
    cat >"$root/etc/dpkg/dpkg.cfg.d/slim" <<'SETTINGS'
force-unsafe-io
path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/man/*
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
SETTINGS
    cat >"$root/etc/apt/apt.conf.d/slim" <<'SETTINGS'
Acquire::Languages "none";
DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true"; };
SETTINGS
    # Services are not to be started by their packages.
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod +x "$root/usr/sbin/policy-rc.d"
}

# The archive that debootstrap used, with its updates and security.
name_sources() {
    local root=$1 suite=$2 mirror
    mirror=$(sed -n 's/^deb \([^ ]*\) .*/\1/p' "$root/etc/apt/sources.list" | head -1)
    printf 'deb %s %s main\n' "$mirror" "$suite" "$mirror" "$suite-updates" \
        "${mirror%/}-security" "$suite-security" >"$root/etc/apt/sources.list"
}

debian() {
    local image=$1 suite root
    suite=$(sed -n 's/^debian:\([a-z]*\)-slim$/\1/p' <<<"$image")
    [ -n "$suite" ] || die "cannot make $image: the name must be debian:SUITE-slim"
    [ "$(id -u)" = 0 ] || die "debootstrap needs root"
    command -v debootstrap >/dev/null || die "no debootstrap found: apt-get install debootstrap"
    root=$work/root
    debootstrap --variant=minbase "$suite" "$root" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$work/log" 2>&1 ||
        { tail -n 20 "$work/log" >&2; die "debootstrap failed"; }
    name_sources "$root" "$suite"
    configure "$root"
    slim_down "$root"
    tar -C "$root" --numeric-owner --exclude='./dev/*' -c . |
        docker import -c 'CMD ["bash"]' -m "debootstrap --variant=minbase $suite" - "$image" >/dev/null
    rm -rf --one-file-system "$root"
}

rust() {
    local image=$1 wanted sysroot toolchain program
    wanted=$(sed -n 's/^rust:\([0-9.]*\)-[a-z]*$/\1/p' <<<"$image")
    [ -n "$wanted" ] || die "cannot make $image: the name must be rust:VERSION-SUITE"
    command -v rustc >/dev/null || die "no rustc found, whose toolchain the image would hold"
    [[ "$(rustc --version)" == "rustc $wanted"* ]] ||
        die "this machine has $(rustc --version), and $image needs $wanted"
    sysroot=$(rustc --print sysroot)
    toolchain=usr/local/rustup/toolchains/$(rustc --version | cut -d' ' -f2)
    mkdir -p "$work/rust/$toolchain" "$work/rust/usr/local/cargo/bin"
    # Without the documentation, which is the larger half.
    tar -C "$sysroot" --exclude=./share -c . | tar -C "$work/rust/$toolchain" -x --no-same-owner
    for program in cargo rustc rustfmt; do
        ln -s "/$toolchain/bin/$program" "$work/rust/usr/local/cargo/bin/$program"
    done
    tar -C "$work/rust" --numeric-owner --owner=0 --group=0 -c . |
        docker import -m "the toolchain of $(rustc --version)" - "$image" >/dev/null
    rm -rf "$work/rust"
}

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
[ $# -gt 0 ] || set -- debian:bookworm-slim rust:1.96-bookworm
for image; do
    if docker image inspect "$image" >/dev/null 2>&1; then
        say "$image is there"
        continue
    fi
    say "making $image"
    case $image in
    debian:*) debian "$image" ;;
    rust:*) rust "$image" ;;
    *) die "cannot make $image: only debian:SUITE-slim and rust:VERSION-SUITE" ;;
    esac
done

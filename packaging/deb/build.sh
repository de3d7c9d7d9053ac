#!/usr/bin/env bash
# Makes the Debian packages postgresql-N-pgboost and postgresql-N-pgboost-train for the PostgreSQL N of
# PG_CONFIG, on the Debian that this runs on, in .build/deb/N. The same sources make the same bytes. With
# cargo's CARGO_BUILD_TARGET they are for that processor, in .build/deb/N-arm64.
#
# They are built by packaging/deb/debian/rules from a copy of the sources. Debian's own Rust is too old, so that the one on
# the path does, and dpkg is not asked whether the package cargo is there.
set -euo pipefail
. "$(dirname "$0")/../../tools/toolchain/env.sh"
. "$root/tools/toolchain/systems.sh"

need_compilers
need_server_headers
for tool in dh dpkg-buildpackage lintian; do
    command -v "$tool" >/dev/null || die "no $tool found" "run: sudo apt-get install debhelper dpkg-dev lintian"
done
major=$(postgres_major)
architecture=
[[ "${CARGO_BUILD_TARGET:-}" != aarch64-* ]] || architecture=arm64
place=$root/.build/deb/$major${architecture:+-$architecture}
source=$place/pgboost
export CARGO_TARGET_DIR=$place/target CARGO_HOME=${CARGO_HOME:-$HOME/.cargo}
# debhelper gives its tools another home.
export RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}

copy_sources() {
    rm -rf "$source"
    mkdir -p "$source/.build"
    tar -C "$root" --exclude=extension/target -cf - extension tools/toolchain packaging \
        rust-toolchain.toml LICENSE README.md CHANGELOG.md | tar -C "$source" -xf -
    cp -a "$root/packaging/deb/debian" "$source/debian"
    # The wheel that libxgboost comes out of, if it was fetched already.
    find "$root/.build" -maxdepth 1 -name 'xgboost*' -exec cp -a -t "$source/.build" {} +
    sed "s/PGVERSION/$major/g" "$source/debian/control.in" >"$source/debian/control"
    "$root/packaging/deb/copyright.py" "$major" >"$source/debian/copyright"
}

say "packaging pgboost for PostgreSQL $major"
mkdir -p "$place"
copy_sources
rm -f "$place"/*.deb
(cd "$source" && dpkg-buildpackage --build=binary ${architecture:+--host-arch="$architecture"} --no-check-builddeps \
    --unsigned-changes --unsigned-buildinfo) >"$place/build.log" 2>&1 || { tail -n 30 "$place/build.log" >&2; die "this failed; $place/build.log has all of it"; }
lintian --allow-root --fail-on error,warning "$place"/*.deb
say "made in $SECONDS s:"
(cd "$place" && ls -l --block-size=1 -- *.deb | awk '{ print "    " $9 "  " $5 " bytes" }')

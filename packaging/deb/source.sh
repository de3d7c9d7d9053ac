#!/usr/bin/env bash
# Makes the source package of pgboost as apt.postgresql.org wants it, in .build/deb/source:
# packaging/deb/source.sh [MAJOR...]
#
# It has two tarballs, the committed sources and all crates (cargo vendor), so that it builds without a
# network; cargo 1.96 itself it needs from elsewhere. It makes postgresql-N-pgboost for each version named, by
# default that of PG_CONFIG; `pg_buildext updatecontrol` renews that from packaging/deb/debian/control.in and
# packaging/deb/debian/pgversions. pgboost_train is not in it, since libxgboost comes out of a wheel. The same commit makes
# the same bytes.
set -euo pipefail
. "$(dirname "$0")/../../tools/toolchain/env.sh"
. "$root/tools/toolchain/systems.sh"

need_compilers
for tool in dh dpkg-buildpackage pg_buildext; do
    command -v "$tool" >/dev/null ||
        die "no $tool found" "run: sudo apt-get install debhelper dpkg-dev postgresql-server-dev-all"
done
versions=${*:-$(postgres_major)}
version=$(sed -n '1s/^pgboost (\(.*\)-[0-9]*).*/\1/p' "$root/packaging/deb/debian/changelog")
place=$root/.build/deb/source
source=$place/pgboost-$version
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# tarball NAME FILE...: of files in the source's directory.
tarball() {
    local name=$1
    shift
    tar --directory "$source" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --use-compress-program="xz -T0 -3" --create --file "$place/pgboost_$version.$name.tar.xz" "$@"
}

say "making the source package of pgboost $version for PostgreSQL $versions"
rm -rf "$place"
mkdir -p "$source"
git -C "$root" archive HEAD extension tools/toolchain packaging rust-toolchain.toml LICENSE README.md CHANGELOG.md |
    tar --directory "$source" --extract
tarball orig --transform "s,^[.],pgboost-$version," .
(cd "$source/extension" && cargo vendor --quiet --locked --versioned-dirs "$source/vendor" >/dev/null)
tarball orig-vendor vendor

git -C "$root" archive HEAD:packaging/deb debian | tar --directory "$source" --extract
# Paragraphs end with an empty line.
awk -v RS= -v ORS='\n\n' '!/^Package: .*-train\n/' "$root/packaging/deb/debian/control.in" >"$source/debian/control.in"
"$root/packaging/deb/copyright.py" source >"$source/debian/copyright"
cd "$source"
PG_SUPPORTED_VERSIONS=$versions pg_buildext updatecontrol
dpkg-buildpackage --build=source --no-check-builddeps --unsigned-changes --unsigned-buildinfo >"$place/build.log" 2>&1 ||
    { tail -n 30 "$place/build.log" >&2; die "this failed; $place/build.log has all of it"; }
rm -rf "$source"
say "made in $SECONDS s:"
(cd "$place" && ls -l --block-size=1 -- *.dsc *.tar.xz | awk '{ print "    " $9 "  " $5 " bytes" }')

# Sourced, after ground.sh, by what runs in a separate Debian: a root that debootstrap makes in .build, once.
#
# Needs root and debootstrap. DEBIAN_MIRROR names another archive than debootstrap's own. Where this machine
# trusts a certificate authority of its network, the root trusts it too.

authorities=usr/local/share/ca-certificates

# inside ROOT COMMAND...: runs it there, with what it takes to reach the network and nothing else of this
# environment.
inside() {
    local debian=$1 name kept=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root LC_ALL=C.UTF-8)
    shift
    for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
        [ -z "${!name:-}" ] || kept+=("$name=${!name}")
    done
    env -i "${kept[@]}" chroot "$debian" "$@"
}

# install_inside ROOT PACKAGE...
install_inside() {
    local debian=$1
    shift
    cp /etc/resolv.conf "$debian/etc/resolv.conf"
    if compgen -G "/$authorities/*.crt" >/dev/null; then
        cp "/$authorities"/*.crt "$debian/$authorities"
        inside "$debian" update-ca-certificates >/dev/null
    fi
    inside "$debian" apt-get update -qq
    inside "$debian" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
    inside "$debian" apt-get clean
}

# make_debian SUITE ROOT PACKAGE...: makes the root with these packages, unless it is there. A function
# prepare_debian ROOT runs before they are installed, if the caller has one.
make_debian() {
    local suite=$1 made=$2 debian=$2.making log=$2.log
    shift 2
    [ ! -d "$made" ] || return 0
    command -v debootstrap >/dev/null || die "no debootstrap found: apt-get install debootstrap"
    say "making a Debian $suite in ${made#"$root"/}"
    rm -rf --one-file-system "$debian"
    mkdir -p "$debian"
    # shellcheck disable=SC2064
    trap "tail -n 20 '$log' >&2; die 'this failed; $log has all of it'" EXIT
    (
        debootstrap --variant=minbase --include=ca-certificates "$suite" "$debian" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"}
        start_nothing "$debian"
        # sid's index is good for a week, and a mirror may be older; signatures are checked all the same.
        echo 'Acquire::Check-Valid-Until "false";' >"$debian/etc/apt/apt.conf.d/old-mirror"
        ! declare -F prepare_debian || prepare_debian "$debian"
        # Packages of sid ask /proc when they are installed.
        mount -t proc proc "$debian/proc"
        install_inside "$debian" "$@"
        umount "$debian/proc"
    ) >"$log" 2>&1 </dev/null
    trap - EXIT
    mv "$debian" "$made"
}

# fresh_debian SUITE: sets debian to a root that has nothing but Debian's minimum; what changes in it goes
# when the script ends. It is an overlay over .build/debian/SUITE.
fresh_debian() {
    local changes base=$root/.build/debian/$1
    make_debian "$1" "$base"
    changes=$(mktemp -d "$root/.build/debian/changes.XXXXXX")
    # shellcheck disable=SC2064
    trap "umount -R '$changes/root' 2>/dev/null; rm -rf --one-file-system '$changes'" EXIT
    mkdir "$changes"/{upper,work,root}
    mount -t overlay overlay -o "lowerdir=$base,upperdir=$changes/upper,workdir=$changes/work" "$changes/root"
    debian=$changes/root
    cp /etc/resolv.conf "$debian/etc/resolv.conf"
}

# Services are not to be started by their packages, nor a cluster to be made by PostgreSQL's.
start_nothing() {
    printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
    chmod +x "$1/usr/sbin/policy-rc.d"
    mkdir -p "$1/etc/postgresql-common/createcluster.d"
    echo 'create_main_cluster = false' >"$1/etc/postgresql-common/createcluster.d/none.conf"
}

# Runs the calling script again with mounts that only it and its children see, and that go with the last of
# them.
with_private_mounts() {
    [ "$(id -u)" = 0 ] || die "a separate root directory needs root"
    [ "${PRIVATE_MOUNTS:-}" != "$$" ] || return 0
    PRIVATE_MOUNTS=$$ exec unshare --mount --propagation private "$0" "$@"
}

# in_source ROOT [NAME=VALUE...] COMMAND...: runs it in this repository, which the root has under /source,
# with this machine's Rust, and the root's own Python environment, test cluster and target directory.
in_source() {
    local debian=$1 place
    shift
    mkdir -p "$debian"/{source,opt/rust}
    mount --rbind "$root" "$debian/source"
    mount --bind "$(rustc --print sysroot)" "$debian/opt/rust"
    mount --rbind /proc "$debian/proc"
    mount --rbind /dev "$debian/dev"
    for place in .venv .test; do
        mkdir -p "$debian/var/cache/pgboost/$place" "$root/$place"
        mount --bind "$debian/var/cache/pgboost/$place" "$debian/source/$place"
    done
    inside "$debian" env --chdir=/source PATH=/opt/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        CARGO_HOME=/var/cache/cargo CARGO_TARGET_DIR=/var/cache/target "$@"
}

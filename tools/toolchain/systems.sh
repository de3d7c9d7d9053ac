# Sourced, after ground.sh, by the scripts that need more than is there: what is missing, and how to get it on
# Debian, Ubuntu, Fedora and macOS. What is missing goes by the names of Debian's packages.

# The system's name and version: debian-12, ubuntu-24.04, fedora-43, macos.
system() {
    if [ "$(uname)" = Darwin ]; then
        echo macos
    else
        (. /etc/os-release 2>/dev/null && echo "${ID:-unknown}-${VERSION_ID:-sid}")
    fi
}

# The command that installs these packages here.
install_command() {
    local major name names=()
    major=$(default_major)
    for name; do
        case "$(system):$name" in
        macos:postgresql-server-dev-*) continue ;;
        macos:postgresql-[0-9]*) names+=("postgresql@$major") ;;
        macos:clang | macos:libclang-dev) names+=(llvm) ;;
        macos:python3-*) names+=(python) ;;
        fedora*:postgresql-server-dev-*) names+=(postgresql-server-devel) ;;
        fedora*:postgresql-[0-9]*) names+=(postgresql-server) ;;
        fedora*:libclang-dev) names+=(clang-devel) ;;
        fedora*:libicu-dev) names+=(libicu-devel) ;;
        fedora*:python3-venv) names+=(python3) ;;
        macos:rustfmt) names+=(rust) ;;
        fedora*:libgomp1) names+=(libgomp) ;;
        *:postgresql-[0-9]*) names+=("postgresql-$major") ;;
        *:postgresql-server-dev-*) names+=("postgresql-server-dev-$major") ;;
        *) names+=("$name") ;;
        esac
    done
    case $(system) in
    macos) echo "brew install ${names[*]}" ;;
    fedora*) echo "sudo dnf install ${names[*]}" ;;
    *) echo "sudo apt-get install ${names[*]}" ;;
    esac
}

# The major version of PG_CONFIG, if it is there, else of this system's own PostgreSQL.
default_major() {
    local version
    if [ -n "$(postgres_major)" ]; then
        postgres_major
    elif [ "$(system)" = macos ]; then
        echo 18
    else
        # Debian's and Ubuntu's package postgresql has a version as 16+257build1.
        version=$(apt-cache show postgresql 2>/dev/null | sed -n 's/^Version: \([0-9]*\).*/\1/p' | head -n 1)
        echo "${version:-15}"
    fi
}

# Ends the script with the command that installs what is missing on this system.
die_with_names() {
    die "missing, by the names of Debian's packages: $*" "run: $(install_command "$@")" \
        "PG_CONFIG names the pg_config of another PostgreSQL than $pg_config"
}

# Whether the first version is at least the second.
at_least() { [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]; }

# cargo in the version that the crates ask for, rustfmt, which pgrx formats its bindings with, and a C
# compiler.
need_compilers() {
    local wanted found home
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/extension/Cargo.toml")
    home=$(eval echo "~${SUDO_USER:-}")
    if ! command -v cargo >/dev/null; then
        [ ! -x "$home/.cargo/bin/cargo" ] ||
            die "cargo is in $home/.cargo/bin, and that is not in the path" \
                'sudo sets its own path; run: sudo env PATH="$PATH" make ...'
        die "no cargo found" "install Rust $wanted or later, see https://rustup.rs"
    fi
    found=$(cd "$root" && rustc --version | cut -d' ' -f2)
    at_least "$found" "$wanted" ||
        die "Rust $wanted or later is needed, and $(command -v rustc) is $found" \
            "run: rustup update; without rustup, see https://rustup.rs"
    (cd "$root" && rustfmt --version) >/dev/null 2>&1 ||
        die "no rustfmt found, which the build runs" "run: rustup component add rustfmt; without rustup: $(install_command rustfmt)"
    command -v cc >/dev/null || die "no C compiler found" "run: $(install_command gcc)"
}

# The pg_config of a PostgreSQL that is supported, with a server's headers, and libclang, which reads them.
need_server_headers() {
    local major supported
    [ -e "$pg_config" ] || die "there is no PostgreSQL at $pg_config" \
        "run: $(install_command postgresql-15 postgresql-server-dev-15)" "or set PG_CONFIG to a pg_config"
    major=$(postgres_major) || true
    [ -n "$major" ] || die "$pg_config is no pg_config" "set PG_CONFIG to one, such as $debian_pg_config"
    supported=$(sed -n 's/^pg\([0-9]*\) = .*/\1/p' "$root/extension/pgboost/Cargo.toml" | paste -sd' ')
    [[ " $supported " == *" $major "* ]] ||
        die "PostgreSQL $major is not supported" "PG_CONFIG may name one of $supported; $pg_config is of $major"
    has_server_headers || die "$pg_config has no server headers" "run: $(install_command postgresql-server-dev-15)"
    has_libclang || die "no libclang found" "run: $(install_command clang libclang-dev)"
    has_icu_headers || die "no headers of ICU found, which those of $pg_config include" "run: $(install_command libicu-dev)"
}

has_libclang() {
    [ -n "${LIBCLANG_PATH:-}" ] || compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null ||
        ldconfig -p 2>/dev/null | grep -q 'libclang.*\.so' || [ "$(system)" = macos ]
}

# Headers of some versions include ICU's, where the server was built with it.
has_icu_headers() {
    ! has_server_headers || [ "$(system)" = macos ] ||
        printf '#include <%s>\n' postgres.h utils/pg_locale.h |
        cc -E -I "$("$pg_config" --includedir-server)" - >/dev/null 2>&1
}

has_server_headers() { [ -n "$(postgres_major)" ] && [ -f "$("$pg_config" --includedir-server)/postgres.h" ]; }

#!/usr/bin/env bash
# Checks the language of pages, comments and messages (Vale, rules in tools/toolchain/vale), and that pages have code
# in fenced blocks (pymarkdownlnt): prose.sh [FILE...]
#
# Vale is built by Go, in two minutes the first time. Of messages, which are literals, the words are checked.
set -euo pipefail
. "$(dirname "$0")/env.sh"
cd "$root"

vale_release=v3.21.0
programs=$root/.build/prose
environment=$programs/markdown
pinned=$root/tools/toolchain/markdown.txt

make_programs() {
    command -v go >/dev/null || die "no Go is installed" "make prose builds Vale with it"
    if ! [ -x "$programs/$vale_release/vale" ]; then
        say "building Vale $vale_release, which takes two minutes"
        GOBIN=$programs/$vale_release go install "github.com/vale-cli/vale/v3/cmd/vale@$vale_release" 2>"$programs.log" ||
            die "Vale was not built" "see $programs.log"
    fi
    cmp -s "$pinned" "$environment/pinned.txt" && return
    "${PYTHON:-python3}" -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$pinned"
    cp "$pinned" "$environment/pinned.txt"
}

# names PATTERN...: the repository's files, or those of the arguments. Records and expected output are as they
# were made.
names() {
    git ls-files --cached --others --exclude-standard -- "$@" ':!bench/results' ':!tests/extension/sql' |
        while read -r file; do
            if [ -f "$file" ] && { [ ${#files[@]} -eq 0 ] || [[ " ${files[*]} " == *" $file "* ]]; }; then
                echo "$file"
            fi
        done
}

# literals FILE...: each literal of one line in a line, behind its place.
literals() { grep -noE '"([^"\\]|\\.)*"' "$@" /dev/null | grep -vE '^[^:]*:[0-9]+:""$' || true; }

vale() { "$programs/$vale_release/vale" --config=tools/toolchain/vale.ini --output=line "$@"; }

mkdir -p "$programs"
make_programs
files=("$@")
readarray -t texts < <(names '*.md' '*.rs' '*.py' '*.sh' '*.sql')
readarray -t code < <(names 'extension/*/src/*.rs' 'python/src/*.py')
readarray -t pages < <(names '*.md')
failed=0
[ ${#texts[@]} -eq 0 ] || vale "${texts[@]}" || failed=1
if [ ${#code[@]} -gt 0 ]; then
    literals "${code[@]}" >"$programs/messages.literal"
    vale "$programs/messages.literal" || failed=1
fi
[ ${#pages[@]} -eq 0 ] || "$environment/bin/pymarkdown" --disable-rules '*' --enable-rules md031,md042,md046 \
    --set 'plugins.md046.style=fenced' scan "${pages[@]}" || failed=1
exit $failed

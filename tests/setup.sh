#!/usr/bin/env bash
# Installs the named Debian packages, those only whose program is missing.
set -euo pipefail

# The program that shows a package to be there. Debian keeps PostgreSQL's
# server programs out of the PATH.
has() {
    case "$1" in
        nginx) PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v nginx ;;
        postgresql) command -v initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' ;;
        apache2-utils) command -v ab ;;
        nghttp2-client) command -v h2load ;;
        *) command -v "$1" ;;
    esac >/dev/null
}

missing=()
for package in "$@"; do
    has "$package" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
    echo "missing: ${missing[*]}; install what your system calls them, then run this again" >&2
    exit 1
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
export DEBIAN_FRONTEND=noninteractive
echo "installing ${missing[*]}" >&2
"${as_root[@]}" apt-get update -q >/dev/null
"${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null

for package in "${missing[@]}"; do
    has "$package" || { echo "$package was installed, but its program is not found" >&2; exit 1; }
done

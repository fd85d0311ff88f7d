#!/bin/sh
# tools/debian_source.sh PACKAGE FOLDER: the source of a Debian package in FOLDER/source/PACKAGE-VERSION/, for what the wheel builds itself.
#
# The source of the same Debian release is fetched through apt, which checks it against the archive's signature; dpkg-source applies
# Debian's security patches. apt's lists of sources go to FOLDER, never to the system's. Prints the name of the source's folder. Exit 4: it
# could not be had, and a line on stderr says why.
set -eu

package=$1
folder=$2
# shellcheck source=tools/wheel_functions.sh
. "$(dirname "$0")/wheel_functions.sh"

command -v apt-get >/dev/null 2>&1 || give_up "no apt-get here to fetch the source of $package with"
command -v dpkg-source >/dev/null 2>&1 || give_up "no dpkg-source here (apt-get install dpkg-dev)"

rm -rf "$folder/source" "$folder/apt"
mkdir -p "$folder/source" "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial"
# The archives that this system uses, as sources of sources.
# shellcheck disable=SC2016 # apt-get fills these in, not the shell
apt-get indextargets --no-release-info --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u >"$folder/apt/sources.list"
[ -s "$folder/apt/sources.list" ] || give_up "apt knows no archive to fetch the source of $package from"
apt() {
    apt-get -q -o Dir::Etc::sourcelist="$folder/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State::lists="$folder/apt/lists" -o Dir::Cache="$folder/apt/cache" -o APT::Sandbox::User= \
        -o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o Acquire::AllowInsecureRepositories=false "$@"
}
cd "$folder/source"
# An archive that cannot be read or trusted here need not be the one that is wanted.
quietly update.log apt update || echo "debian_source: some of the archives could not be read" >&2
quietly source.log apt -o APT::Get::AllowUnauthenticated=false source --only-source "$package" ||
    give_up "apt could not fetch the source of $package"
rm -rf "$folder/apt"
set -- "$folder/source/$package"-*/
[ -d "$1" ] || give_up "the source of $package has no folder"
printf '%s\n' "${1%/}"

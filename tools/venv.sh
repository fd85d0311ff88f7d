#!/bin/sh
# tools/venv.sh VENV REQUIREMENTS: install the pinned packages into VENV, unless exactly those are there already.
set -eu

python=$1/bin/python
if "$python" - "$2" <<'EOF'; then
import importlib.metadata, sys
for line in open(sys.argv[1]):
    name, _, version = line.split("#")[0].strip().partition("==")
    if name and not name.startswith("-"):  # -c FILE: pip's
        try:
            if importlib.metadata.version(name).split("+")[0] != version:  # 2.13.0+cpu is 2.13.0
                sys.exit(1)
        except importlib.metadata.PackageNotFoundError:
            sys.exit(1)
EOF
    exit 0
fi
echo "venv: installing what $2 names"
"$python" -m pip install --quiet --disable-pip-version-check -r "$2" || {
    echo "venv: pip could not install what $2 names; it needs the network, once (the C tests do without: make dev && ctest --preset dev)" >&2
    exit 3
}

#!/usr/bin/env python3
"""tools/wheel_licences.py WHEEL: the licences of the libraries that auditwheel put inside, beside ours.

Each library in mldf.libs came from a Debian package, whose copyright file goes to dist-info/licenses/. Without dpkg (another
system) the wheel stays as it is, and a line says so.
"""

import base64
import glob
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile


def package_of(library):
    """The Debian package of libjpeg-1a2b3c4d.so.62.3.0, say."""
    name = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", library)
    for pattern in (name, name.split(".so")[0] + ".so*"):
        for path in glob.glob(f"/usr/lib/*/{pattern}") + glob.glob(f"/lib/*/{pattern}"):
            for one in {path, str(pathlib.Path(path).resolve())}:
                found = subprocess.run(["dpkg", "-S", one], capture_output=True, text=True, check=False)
                lines = [line.rpartition(": ") for line in found.stdout.splitlines()]
                packages = [owner.split(":")[0] for owner, _, owned in lines if owned == one]
                packages = [p for p in packages if not p.endswith("-dev")]
                if packages:
                    return packages[0]
    return None


def main(wheel):
    if not shutil.which("dpkg"):
        print("wheel_licences: no dpkg here; the licences of the libraries inside are not added", file=sys.stderr)
        return 0
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        entries = {name: (archive.getinfo(name), archive.read(name)) for name in names}
    record = next(n for n in names if n.endswith(".dist-info/RECORD"))
    libraries = [n.rsplit("/", 1)[1] for n in names if n.startswith("mldf.libs/") and not n.endswith("/")]
    missing = []
    lines = entries[record][1].decode()
    with zipfile.ZipFile(wheel + ".new", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (info, data) in entries.items():
            if name != record:
                archive.writestr(info, data)
        for package in sorted({p for p in map(package_of, libraries) if p}):
            text = pathlib.Path(f"/usr/share/doc/{package}/copyright")
            if not text.exists():
                missing.append(package)
                continue
            name = f"{record.rsplit('/', 1)[0]}/licenses/{package}.txt"
            data = text.read_bytes()
            archive.writestr(name, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines += f"{name},sha256={digest},{len(data)}\n"
        archive.writestr(record, lines)
    missing += [library for library in libraries if package_of(library) is None]
    shutil.move(wheel + ".new", wheel)
    if missing:
        print(f"wheel_licences: no licence found for {', '.join(missing)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

#!/usr/bin/env python3
"""tools/wheel_licences.py WHEEL [NAME=FILE ...]: the licences of the libraries inside the wheel, beside ours.

Each library that auditwheel put into mldf.libs came from a Debian package, whose copyright file goes to dist-info/licenses/;
libraries that were built for the wheel (linked statically, or FFmpeg's, called libavcodec-mldf) are named with the files of their licences. A library without a licence is an error; so is one
under the GPL alone, which would make the wheel GPL. Without dpkg (another system) the libraries' own are not added, and a line says so.
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

# What libtiff and FFmpeg of most distributions bring along.
FORBIDDEN = re.compile(r"lib(jbig|x264|x265|xvid|postproc)|lib(avcodec|avformat|avutil)(?!-mldf-)")


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


def licences_of(libraries, more):
    """{name: text} for these libraries and for NAME=FILE, and the libraries that have none."""
    found, missing = {}, []
    for name, _, path in (one.partition("=") for one in more):
        found[name] = pathlib.Path(path).read_bytes()
    for library in libraries:
        if "ffmpeg" in found and re.match(r"lib(avcodec|avformat|avutil)-mldf-", library):
            continue
        package = package_of(library)
        text = pathlib.Path(f"/usr/share/doc/{package}/copyright")
        if package and text.exists():
            found[package] = text.read_bytes()
        else:
            missing.append(library)
    return found, missing


def main(wheel, *more):
    with zipfile.ZipFile(wheel) as archive:
        entries = [(info, archive.read(info)) for info in archive.infolist()]
    names = [info.filename for info, _ in entries]
    record = next(n for n in names if n.endswith(".dist-info/RECORD"))
    libraries = [n.rsplit("/", 1)[1] for n in names if n.startswith("mldf.libs/") and not n.endswith("/")]
    forbidden = [library for library in libraries if FORBIDDEN.match(library)]
    if forbidden:
        print(f"wheel_licences: the licence (GPL) of {', '.join(forbidden)} would be the wheel's", file=sys.stderr)
        return 1
    if not shutil.which("dpkg"):
        print("wheel_licences: no dpkg here; the licences of the libraries inside are not added", file=sys.stderr)
        libraries = []
    found, missing = licences_of(libraries, more)
    if missing:
        print(f"wheel_licences: no licence found for {', '.join(missing)}", file=sys.stderr)
        return 1

    lines = next(data for info, data in entries if info.filename == record).decode()
    with zipfile.ZipFile(wheel + ".new", "w", zipfile.ZIP_DEFLATED) as archive:
        for info, data in entries:
            if info.filename != record:
                archive.writestr(info, data)
        for package, data in sorted(found.items()):
            name = f"{record.rsplit('/', 1)[0]}/licenses/{package}.txt"
            archive.writestr(name, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines += f"{name},sha256={digest},{len(data)}\n"
        archive.writestr(record, lines)
    shutil.move(wheel + ".new", wheel)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

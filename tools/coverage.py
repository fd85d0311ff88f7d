#!/usr/bin/env python3
"""tools/coverage.py BUILD: line coverage of src/ and cli/ after the tests ran in a --coverage build.

Asks gcov for its JSON form and prints a line for each folder, and one for each file below 90 %.
"""
import collections
import json
import pathlib
import subprocess
import sys


def main(build):
    root = pathlib.Path(__file__).resolve().parent.parent
    notes = sorted(pathlib.Path(build).resolve().rglob("*.gcda"))
    if not notes:
        print("coverage: no .gcda files; run the tests first", file=sys.stderr)
        return 1
    hits = collections.defaultdict(lambda: collections.defaultdict(int))
    for start in range(0, len(notes), 50):
        output = subprocess.run(["gcov", "--json-format", "--stdout", *map(str, notes[start:start + 50])],
                                capture_output=True, text=True, check=True, cwd=build).stdout
        for text in output.splitlines():
            if not text.startswith("{"):
                continue
            document = json.loads(text)
            for file in document["files"]:
                path = pathlib.Path(document["current_working_directory"], file["file"]).resolve()
                if not path.is_relative_to(root):
                    continue
                name = str(path.relative_to(root))
                if name.startswith(("src/", "cli/")):
                    for line in file["lines"]:
                        hits[name][line["line_number"]] += line["count"]
    folders = collections.defaultdict(lambda: [0, 0])
    print(f"{'file':<40}{'lines':>8}{'reached':>9}")
    for name, lines in sorted(hits.items()):
        reached = sum(1 for count in lines.values() if count)
        folder = folders[name.rsplit("/", 1)[0]]
        folder[0] += len(lines)
        folder[1] += reached
        if lines and reached < 0.9 * len(lines):
            print(f"{name:<40}{len(lines):>8}{100 * reached / len(lines):>8.1f}%")
    print()
    for name, (lines, reached) in sorted(folders.items()):
        print(f"{name:<40}{lines:>8}{100 * reached / max(lines, 1):>8.1f}%")
    lines, reached = (sum(f[i] for f in folders.values()) for i in (0, 1))
    print(f"{'all':<40}{lines:>8}{100 * reached / max(lines, 1):>8.1f}%")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else __doc__)

#!/usr/bin/env python3
"""bench/figure.py [--check]: docs/speed.svg, the drawing of README.md, from the table of loaders in docs/benchmarks.md.

The numbers are the first column of that table: JPEG 500 x 375 -> random_resized_crop(224), hflip, normalize, chw f32, samples/s through Python.
--check fails when the drawing is not the one that the table gives. `make bench` draws it again; the table itself is written by hand from what
bench/rivals/compare.py prints.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE, OUT = ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "speed.svg"
NAMES = {
    "mldf, fast JPEG, fused": "mldf, fast JPEG, fused",
    "mldf, fast JPEG": "mldf, fast JPEG",
    "mldf": "mldf",
    "TurboLoader 2.39": "TurboLoader 2.39",
    "FFCV 1.0.2": "FFCV 1.0.2",
    "DALI 2.4": "DALI 2.4 (CPU)",
    "tf.data": "tf.data",
    "PyTorch DataLoader, simplejpeg + OpenCV": "PyTorch DataLoader",
}


def rates(text):
    """{name: samples/s} of the table's first column, in its order."""
    found = {}
    for name, cell in re.findall(r"^\| ([^|]+?) \| ([\d,]+)[ :(]", text, re.M):
        if name in NAMES and name not in found:
            found[name] = int(cell.replace(",", ""))
    missing = [name for name in NAMES if name not in found and "fast JPEG" not in name]  # those are drawn once they are measured
    if missing:
        sys.exit(f"figure: {PAGE.name} has no row {missing[0]!r}")
    return found


def draw(found):
    left, width, row = 190, 430, 26
    most, mldf = max(found.values()), found["mldf"]
    height = 58 + row * len(found)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{height}" viewBox="0 0 720 {height}">',
        "<style>text{font-family:sans-serif;font-size:13px;fill:#222}.s{font-size:11px;fill:#555}rect{fill:#9ab}"
        ".m{fill:#2a6fb0}.p{fill:#fff}</style>",
        f'<rect class="p" width="720" height="{height}"/>',
        '<text x="12" y="20">JPEG photos into float batches of 224 x 224, samples/s, 2 threads on 2 CPUs</text>',
    ]
    for i, (name, rate) in enumerate(found.items()):
        y = 34 + row * i
        bar = width * rate / most
        ratio = "" if name.startswith("mldf") else f"  (mldf: {mldf / rate:.1f} x)"
        lines.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{NAMES[name]}</text>')
        lines.append(f'<rect x="{left}" y="{y}" width="{bar:.1f}" height="18"{" class=" + chr(34) + "m" + chr(34) if not ratio else ""}/>')
        inside = bar > 0.8 * width
        x, anchor, style = (left + bar - 6, "end", ' style="fill:#fff"') if inside else (left + bar + 6, "start", "")
        lines.append(f'<text x="{x:.1f}" y="{y + 14}" text-anchor="{anchor}"{style}>{rate:,}{ratio}</text>')
    lines.append(f'<text class="s" x="12" y="{height - 8}">docs/benchmarks.md has the conditions, more tables and the commands</text>')
    return "\n".join([*lines, "</svg>", ""])


def main():
    text = draw(rates(PAGE.read_text(encoding="utf-8")))
    if "--check" in sys.argv[1:]:
        if not OUT.exists() or OUT.read_text(encoding="utf-8") != text:
            sys.exit("figure: docs/speed.svg is not what docs/benchmarks.md says: run bench/figure.py")
        return
    OUT.write_text(text, encoding="utf-8")
    print(f"wrote {OUT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

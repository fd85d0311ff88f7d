"""Counts and findings of an attack: one row for each part, one group for each kind of failure."""

import re
import threading

COLUMNS = {
    "crash": "crashes",
    "time-out": "time-outs",
    "sanitizer": "sanitizer",
    "silent": "silent",
    "exit": "wrong exit",
    "leftover": "leftovers",
    "changed": "changed",
    "output": "bad output",
    "memory": "memory",
}


class Report:
    """Everything that was run and found. Any thread may add to it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.runs = {}
        self.notes = {}
        self.counts = {}
        self.groups = {}

    def ran(self, part, runs=1):
        with self.lock:
            self.runs[part] = self.runs.get(part, 0) + runs

    def note(self, text, count=1):
        """Something to count that is no failure."""
        with self.lock:
            self.notes[text] = self.notes.get(text, 0) + count

    def found(self, part, kind, words, again=""):
        """A failure: its kind (see COLUMNS), what happened, and how to see it again."""
        same = re.sub(r"/\S+/|\"[^\"]*\"| \[[^]]*\]$", "", words)
        same = re.sub(r"0x[0-9a-f]+|[0-9]+", "N", same)
        with self.lock:
            self.counts[part, kind] = self.counts.get((part, kind), 0) + 1
            group = self.groups.setdefault((part, kind, same), [0, words, again])
            group[0] += 1

    def total(self):
        return sum(self.counts.values())

    def print(self, out):
        widths = [max(6, len(name)) for name in COLUMNS.values()]
        print(f"{'part':<28} {'runs':>8} " + " ".join(f"{n:>{w}}" for n, w in zip(COLUMNS.values(), widths)), file=out)
        for part, runs in self.runs.items():
            row = [self.counts.get((part, kind), 0) for kind in COLUMNS]
            print(f"{part:<28} {runs:>8} " + " ".join(f"{n:>{w}}" for n, w in zip(row, widths)), file=out)
        row = [sum(n for (_, k), n in self.counts.items() if k == kind) for kind in COLUMNS]
        total = " ".join(f"{n:>{w}}" for n, w in zip(row, widths))
        print(f"{'all':<28} {sum(self.runs.values()):>8} {total}", file=out)
        for text, count in sorted(self.notes.items()):
            print(f"note: {text}: {count}", file=out)
        for (part, kind, _), (count, words, again) in sorted(self.groups.items(), key=lambda g: (g[0][1], -g[1][0])):
            print(f"\n{kind} ({part}, {count} times): {words}", file=out)
            if again:
                print(f"    again: {again}", file=out)

"""The command when memory ends: each allocation of the program fails once. It ends with 3 and says so, or it does what it does with
memory; an option that could not be kept is no option to leave out, and no failure is silent. A small library that is loaded before the C
library counts the allocations that the program itself makes."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

MLDF = os.environ.get("MLDF") or str(Path(__file__).resolve().parents[2] / "build/dev/bin/mldf")

COUNTER = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <stdio.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
static long count, fail_at = -1;
static char *low, *high;

static int take_first(struct dl_phdr_info *info, size_t size, void *user) {
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            low = (char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            high = low + info->dlpi_phdr[i].p_memsz;
        }
    return 1; /* the program comes first */
}

__attribute__((constructor)) static void begin(void) {
    const char *n = getenv("FAIL_AT");
    dl_iterate_phdr(take_first, NULL);
    fail_at = n ? atol(n) : -1;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("COUNT_TO");
    char text[32];
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    if (fd >= 0) {
        int n = snprintf(text, sizeof text, "%ld", count);
        (void)!write(fd, text, (size_t)n);
        close(fd);
    }
}

static int fails(void *caller) {
    return (char *)caller >= low && (char *)caller < high && __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) == fail_at &&
           (errno = ENOMEM);
}

#define FAILS fails(__builtin_return_address(0))
void *malloc(size_t n) { return FAILS ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t m) { return FAILS ? NULL : __libc_calloc(n, m); }
void *realloc(void *old, size_t n) { return FAILS ? NULL : __libc_realloc(old, n); }
void *aligned_alloc(size_t align, size_t n) { return FAILS ? NULL : __libc_memalign(align, n); }
int posix_memalign(void **out, size_t align, size_t n) {
    if (FAILS)
        return ENOMEM;
    return (*out = __libc_memalign(align, n)) ? 0 : ENOMEM;
}
char *strndup(const char *text, size_t n) {
    char *copy = FAILS ? NULL : __libc_malloc((n = strnlen(text, n)) + 1);
    if (copy) {
        memcpy(copy, text, n);
        copy[n] = 0;
    }
    return copy;
}
char *strdup(const char *text) {
    char *copy = FAILS ? NULL : __libc_malloc(strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL;
}
"""


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counter")
    (folder / "counter.c").write_text(COUNTER)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-w", "-o", folder / "counter.so", folder / "counter.c"], check=True)
    return folder / "counter.so"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with sources, made once."""
    folder = tmp_path_factory.mktemp("files")
    rows = [f"{i},k{i},some text of row {i} {'again ' * 20}" for i in range(12)]
    (folder / "rows.csv").write_text("\n".join(["id,name,t", *rows]) + "\n")
    (folder / "more.csv").write_text("\n".join(["note", *map(str, range(12))]) + "\n")
    (folder / "card.json").write_text('{"title":"rows"}')
    (folder / "schema.json").write_text('[{"name":"id","type":"int"},{"name":"t","type":"text"}]')
    (folder / "key").write_bytes(bytes(range(32)))
    (folder / "key").chmod(0o600)
    (folder / "inline.jsonl").write_text('{"v":"' + "ä" * 30 + '"}\n')
    inline = '[{"name":"v","type":"inline","arguments":{"descr":[["","<U900"]]}}]'
    for command in (["pack", "rows.csv", "-o", "a.mldf", "--key-column", "name"],
                    ["pack", "rows.csv", "-o", "locked.mldf", "--encrypt", "key", "--compress", "t"],
                    ["pack", "inline.jsonl", "-o", "inline.mldf", "--schema", inline]):
        subprocess.run([MLDF, *command, "-q"], cwd=folder, check=True, stdin=subprocess.DEVNULL)
    return folder


# name of the case: arguments, whether standard output is compared, the file that is made (or changed)
CASES = {
    "pack": (["pack", "rows.csv", "-o", "x.mldf", "--compress", "t=5", "--card", "card.json", "--key-column", "name"], False, "x.mldf"),
    "convert": (["convert", "a.mldf", "-o", "x.mldf", "--fields", "t,id", "--compress", "t"], False, "x.mldf"),
    "merge": (["merge", "a.mldf", "-o", "x.mldf", "--compress", "t"], False, "x.mldf"),
    "repack": (["repack", "a.mldf", "-o", "x.mldf", "--compress", "t"], False, "x.mldf"),
    "select": (["select", "a.mldf", "-o", "x.mldf", "--compress", "t", "--fields", "t", "--keys", "k1,k2"], False, "x.mldf"),
    "split": (["split", "a.mldf", "-o", "x-{}.mldf", "--compress", "t", "--fractions", "0.5,0.5", "--names", "one,two"], False, "x-two.mldf"),
    "append": (["append", "x.mldf", "rows.csv", "--key-column", "name"], False, None),
    "add-field": (["add-field", "x.mldf", "note=more.csv"], False, "x.mldf"),
    "select samples": (["select", "a.mldf", "-o", "x.mldf", "--samples", "1,3,5:7"], False, "x.mldf"),
    "cat": (["cat", "a.mldf", "--fields", "t,id", "--samples", "1,5,7"], True, None),
    "cat keys": (["cat", "a.mldf", "--json", "--keys", "k1,k2"], True, None),
    "cat inline": (["cat", "inline.mldf"], True, None),
    "cat encrypted": (["cat", "locked.mldf", "--key", "key"], True, None),
    "head": (["head", "a.mldf", "-n", "2"], True, None),
    "info": (["info", "a.mldf"], True, None),
    "verify": (["verify", "a.mldf", "--deep"], True, None),
    "diff": (["diff", "a.mldf", "locked.mldf", "--key", "key"], True, None),
    "stats": (["stats", "a.mldf"], True, None),
    "plan": (["plan", "--samples", "10", "--schema", "schema.json", "--payload-bytes", "t=10"], True, None),
    "extract": (["extract", "a.mldf", "-o", "x"], False, None),
    "repair": (["repair", "a.mldf", "-o", "x.mldf"], False, "x.mldf"),
    "bench": (["bench", "a.mldf", "--batch-size", "4", "--threads", "0", "--codegen", "off"], False, None),
}


def run(folder, arguments, **more):
    return subprocess.run([MLDF, *arguments], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=120, **more)


def clean(folder, files):
    subprocess.run(["rm", "-rf", *folder.iterdir()], check=True)
    for path in files.iterdir():
        (folder / path.name).symlink_to(path)


@pytest.mark.parametrize("case", CASES)
def test_no_allocation_fails_silently(case, counter, files, tmp_path):
    arguments, compare, made = CASES[case]
    environment = {**os.environ, "LD_PRELOAD": str(counter), "COUNT_TO": str(tmp_path / "count")}
    work = tmp_path / "work"
    work.mkdir()

    def attempt(n):
        clean(work, files)
        if "x.mldf" in arguments and arguments[0] in ("append", "add-field"):
            (work / "x.mldf").write_bytes((files / "a.mldf").read_bytes())
        names = {p.name for p in work.iterdir()}
        got = run(work, arguments, env={**environment, "FAIL_AT": str(n)})
        return got, (work / made).read_bytes() if made and (work / made).exists() else None, {p.name for p in work.iterdir()} - names

    want, bytes_wanted, _ = attempt(-1)
    total = int((tmp_path / "count").read_text())
    assert want.returncode in (0, 1) and total > 0, want.stderr
    numbers = [*range(1, min(total, 20) + 1), *range(21, total + 1, max(1, total // 12))]  # options come first
    for n in numbers:
        got, data, new = attempt(n)
        place = f"allocation {n} of {total}: exit code {got.returncode}, {got.stderr!r}"
        if got.returncode == want.returncode:
            assert not compare or got.stdout == want.stdout, place
            assert data == bytes_wanted, place
            continue
        assert got.returncode == 3, place
        assert got.stderr.startswith(b"mldf"), place
        assert not any(".mldf" in name for name in new), (place, new)


def test_a_dictionary_without_memory_is_an_error_not_another_file(files, tmp_path):
    """libzstd's own memory, in an address space that ends somewhere on the way."""
    rows = [f"{i},the text of a row with the number {i} and {i * 2654435761 % 1000003}" for i in range(20000)]
    (tmp_path / "rows.csv").write_text("\n".join(["id,t", *rows]) + "\n")
    command = ["pack", "-q", "rows.csv", "--compress", "t", "--dictionary", "--workers", "0", "-o"]
    subprocess.run([MLDF, *command, "want.mldf"], cwd=tmp_path, check=True)
    want, codes = (tmp_path / "want.mldf").read_bytes(), set()
    for kilobytes in range(12000, 96000, 1500):
        limit = kilobytes * 1024
        got = run(tmp_path, [*command, "x.mldf"], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        codes.add(got.returncode)
        left = {p.name for p in tmp_path.iterdir()} - {"rows.csv", "want.mldf"}
        if got.returncode == 0:
            assert (tmp_path / "x.mldf").read_bytes() == want, kilobytes
            (tmp_path / "x.mldf").unlink()
        elif got.returncode != 127:  # not even the program's libraries fit
            assert got.returncode == 3 and b"memory" in got.stderr, (kilobytes, got.returncode, got.stderr)
            assert not left, left
    assert {0, 3} <= codes

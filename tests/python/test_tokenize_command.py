"""mldf pack --text --tokenizer: sources of every kind, and programs that answer well, badly, late or not at all."""

import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import time

import mldf
import pytest

MLDF = os.environ.get("MLDF", "mldf")

# A program that speaks the protocol: ids are the bytes of the text plus 1. Each test changes a line of it.
GOOD = """
import json, os, struct, sys, time
hello = {"mldf_tokenizer": 1, "name": "plus-one", "sha256": None, "vocabulary": 257, "bos": None, "eos": 0, "pad": None,
         "specials": "text"}
def out(data):
    sys.stdout.buffer.write(data); sys.stdout.buffer.flush()
def read(n):
    data = sys.stdin.buffer.read(n)
    if len(data) < n:
        sys.exit(0)
    return data
def answer(n, ids, counts):
    out(struct.pack("<IIQ", n, 0, len(ids)) + struct.pack(f"<{len(counts)}I", *counts) + struct.pack(f"<{len(ids)}I", *ids))
#HELLO
out(json.dumps(hello).encode() + b"\\n")
while True:
    n, kind, total = struct.unpack("<IIQ", read(16))
    lengths = struct.unpack(f"<{n}I", read(4 * n))
    text = read(total)
    #REQUEST
    answer(n, [b + 1 for b in text], lengths)
"""


def program(tmp_path, hello="pass", request="pass"):
    path = tmp_path / "program.py"
    path.write_text(GOOD.replace("#HELLO", hello).replace("#REQUEST", request))
    return f"exec:'{sys.executable}' {path}"


def pack(tmp_path, tokenizer, *more, code=0, source=None, timeout=60):
    if source is None:
        source = tmp_path / "rows.jsonl"
        if not source.exists():
            texts = ["one", "", "zwölf", "x" * 300]
            source.write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in enumerate(texts)))
    out = tmp_path / "out.mldf"
    words = [MLDF, "pack", str(source), "--text", "text=tokens", "--tokenizer", tokenizer, "-o", str(out), "-f", "-j", "2"]
    done = subprocess.run([*words, *more], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == code, (done.returncode, done.stderr)
    if code:
        assert list(tmp_path.glob("*.mldf*")) == []  # nothing is left behind
    return done.stderr


def ids(path):
    done = subprocess.run([MLDF, "cat", str(path), "--json", "--full"], capture_output=True, text=True, check=True)
    return [json.loads(line)["fields"]["tokens"] for line in done.stdout.splitlines()]


def test_a_program_makes_the_ids_and_the_field_says_which(tmp_path):
    pack(tmp_path, program(tmp_path), "--eos")
    texts = ["one", "", "zwölf", "x" * 300]
    assert ids(tmp_path / "out.mldf") == [[b + 1 for b in t.encode()] + [0] for t in texts]
    info = subprocess.run([MLDF, "info", "--json", str(tmp_path / "out.mldf")], capture_output=True, text=True, check=True)
    arguments = json.loads(info.stdout)["fields"][1]["arguments"]
    expected = {"dtype": "<u2", "eos": 0, "eos_inside": True, "specials": "text", "tokenizer": "plus-one", "vocabulary": 257}
    assert arguments == expected


def test_any_number_of_threads_and_programs_gives_the_same_bytes(tmp_path):
    source = tmp_path / "many.jsonl"
    source.write_text("".join(json.dumps({"text": f"document {i} " * (i % 97)}) + "\n" for i in range(6000)))
    files = set()
    for more in ([], ["-j", "0"], ["-j", "4", "--tokenizer-processes", "3"]):
        pack(tmp_path, program(tmp_path), *more, source=source)
        files.add((tmp_path / "out.mldf").read_bytes())
    assert len(files) == 1


def test_sources_of_every_kind_give_the_same_tokens(tmp_path):
    texts = {"a.txt": "alpha", "b/c.txt": "gamma\n", "b/d": "delta ü"}
    expected = [list(t.encode()) for t in texts.values()]
    folder = tmp_path / "folder"
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    pack(tmp_path, "bytes", source=folder)
    assert ids(tmp_path / "out.mldf") == expected
    pack(tmp_path, "bytes", source=folder / "a.txt")
    assert ids(tmp_path / "out.mldf") == expected[:1]
    pack(tmp_path, "bytes", "--format", "text", source=folder / "b" / "d")
    assert ids(tmp_path / "out.mldf") == expected[2:]
    table = tmp_path / "t.csv"
    table.write_text('text,n\n"alpha",1\n"gamma\n",2\n"delta ü",3\n')
    pack(tmp_path, "bytes", source=table)
    assert ids(tmp_path / "out.mldf") == expected
    table.write_text("text\n12\n345\n")  # a column of numbers is text, too
    pack(tmp_path, "bytes", source=table)
    assert ids(tmp_path / "out.mldf") == [list(b"12"), list(b"345")]
    archive = tmp_path / "a.tar"
    with tarfile.open(archive, "w") as tar:
        for i, text in enumerate(texts.values()):
            member = tarfile.TarInfo(f"{i}.text")
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    pack(tmp_path, "bytes", source=archive)
    assert ids(tmp_path / "out.mldf") == expected



def test_text_is_appended_as_it_was_packed(tmp_path):
    out = tmp_path / "out.mldf"
    pack(tmp_path, program(tmp_path), "--eos")
    more = tmp_path / "more.jsonl"
    more.write_text("".join(json.dumps({"text": t, "id": 9}) + "\n" for t in ("two", "drei")))

    def append(*arguments, code=0, source=more):
        words = [MLDF, "append", str(out), str(source), *arguments]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert done.returncode == code, done.stderr
        return done.stderr

    before = out.read_bytes()
    how = ["--text", "text=tokens", "--tokenizer", program(tmp_path)]
    assert "eos_inside is false, and true" in append(*how, code=1)
    assert "vocabulary is 256, and 257" in append("--text", "text=tokens", "--tokenizer", "bytes", code=1)
    assert "id is int" in append("--text", "text=id", *how[2:], code=1).replace("of type ", "").replace('field "id"', "id")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text("a")
    assert "pack this with the tokenizer" in append(*how, "--eos", code=2, source=folder)
    assert "given together" in append("--text", "text=tokens", code=2)
    assert out.read_bytes() == before
    append(*how, "--eos")
    mldf.append(out, more, text="text=tokens", tokenizer=program(tmp_path), eos=True)
    with pytest.raises(mldf.errors.SchemaError, match="eos_inside is false, and true"):
        mldf.append(out, more, text="text=tokens", tokenizer=program(tmp_path))
    texts = ["one", "", "zwölf", "x" * 300, "two", "drei", "two", "drei"]
    assert ids(out) == [[b + 1 for b in t.encode()] + [0] for t in texts]


@pytest.mark.parametrize("threads", ["0", "2"])
def test_text_that_is_not_utf8_is_refused_skipped_or_replaced(tmp_path, threads):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "good").write_text("good")
    (folder / "bad").write_bytes(b"ab\xe2\x82 \xf0\x9f\x98x\xff")
    error = pack(tmp_path, "bytes", "-j", threads, source=folder, code=1)
    assert "folder/bad: sample 0, field tokens: byte 2 of the text is not UTF-8 (0xe2)" in error
    assert "skipped" in pack(tmp_path, "bytes", "-j", threads, "--on-error=skip", source=folder)
    assert ids(tmp_path / "out.mldf") == [list(b"good")]
    pack(tmp_path, "bytes", "-j", threads, "--utf8", "replace", source=folder)
    replaced = b"ab\xe2\x82 \xf0\x9f\x98x\xff".decode("utf-8", "replace").encode()
    assert ids(tmp_path / "out.mldf") == [list(replaced), list(b"good")]


# What goes wrong, and what must be said of it.
WRONG = {
    "no such program": (None, None, "cannot start /nonexistent/program"),
    "ends at once": ("sys.exit(7)", "pass", "exit status 7"),
    "says why": ("sys.exit('no model here')", "pass", "its stderr ends: no model here"),
    "not JSON": ('out(b"hi there\\n")', "pass", "not the hello of a tokenizer"),
    "a list": ('out(b"[1]\\n")', "pass", "not a JSON object"),
    "another version": ('hello["mldf_tokenizer"] = 2', "pass", '"mldf_tokenizer" is not 1'),
    "no vocabulary": ('del hello["vocabulary"]', "pass", '"vocabulary" is not a number'),
    "vocabulary of nothing": ('hello["vocabulary"] = 0', "pass", "a vocabulary of 0 ids"),
    "eos outside": ('hello["eos"] = 257', "pass", "eos is 257, outside the vocabulary"),
    "hash of nonsense": ('hello["sha256"] = "XYZ"', "pass", '"sha256" is neither null'),
    "an endless line": ('out(b"x" * 100000)', "pass", "more than 65536 bytes"),
    "killed": ("pass", "os.kill(os.getpid(), 9)", "killed by signal 9"),
    "dies with words": ("pass", "raise ValueError('bad luck')", "bad luck"),
    "exits in the middle": ("pass", "out(b'1234'); sys.exit(0)", "exit status 0 before its answer"),
    "hangs": ("pass", "time.sleep(600)", "no answer within 1 s (--tokenizer-timeout)"),
    "hangs in the middle": ("pass", "out(struct.pack('<IIQ', n, 0, 5)); time.sleep(600)", "no answer within 1 s"),
    "closes its output": ("pass", "os.close(1); time.sleep(600)", "closed its standard output"),
    "another kind": ("pass", "out(struct.pack('<IIQ', n, 9, 0))", "an answer of kind 9"),
    "another count": ("pass", "answer(n + 1, [], [0] * (n + 1))", "documents to a request of"),
    "counts that lie": ("pass", "answer(n, [1, 2, 3], [0] * n)", "counts sum to 0 ids, and it announced 3"),
    "far too many ids": ("pass", "out(struct.pack('<IIQ', n, 0, 1 << 60))", "units;"),
    "an id outside": ("pass", "answer(n, [256, 257] + [0] * (n - 1), [2] + [1] * (n - 1))", "the id 257 as token 1"),
    "refuses a document it was not asked": ("pass", "out(struct.pack('<IIQ', n, 1, 0))", "refused document"),
    "refuses": ("pass", "out(struct.pack('<IIQ', 2, 1, 4) + b'why?'); continue", "rows.jsonl:3: sample 2, field tokens: the tokenizer refuses the document: why?"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_program_that_fails_is_an_error_that_says_how(tmp_path, name):
    hello, request, expected = WRONG[name]
    tokenizer = "exec:/nonexistent/program" if hello is None else program(tmp_path, hello, request)
    code = 1 if name == "refuses" else 3
    started = time.monotonic()
    error = pack(tmp_path, tokenizer, "--tokenizer-timeout", "1", code=code)
    assert expected in error and error.count("\n") == 1, error
    assert time.monotonic() - started < 50


def test_a_document_that_is_refused_may_be_left_out(tmp_path):
    request = "bad = [i for i, m in enumerate(lengths) if m == 3]\n    if bad:\n        out(struct.pack('<IIQ', bad[0], 1, 2) + b'no'); continue"
    said = pack(tmp_path, program(tmp_path, "pass", request), "--on-error=skip")
    assert "skipped" in said and "rows.jsonl:1: the tokenizer refuses the document: no" in said
    assert len(ids(tmp_path / "out.mldf")) == 3


def test_neither_pipe_can_block_the_other(tmp_path):
    # It answers before it has read everything, and fills stderr: who writes first and reads then would wait for ever.
    request = "sys.stderr.write('noise ' * 100000)"
    source = tmp_path / "long.jsonl"
    source.write_text(json.dumps({"text": "y" * (3 << 20)}) + "\n" + json.dumps({"text": "z"}) + "\n")
    pack(tmp_path, program(tmp_path, "pass", request), source=source)
    assert [len(t) for t in ids(tmp_path / "out.mldf")] == [3 << 20, 1]


def test_a_program_that_does_not_end_well_is_told_of(tmp_path):
    broken = program(tmp_path).replace("program.py", "end.py")
    text = GOOD.replace("sys.exit(0)", "sys.exit('lost my way')")
    (tmp_path / "end.py").write_text(text)
    said = pack(tmp_path, broken)
    assert "warning: tokenizer plus-one: it ended with exit status 1; its stderr ends: lost my way" in said
    assert len(ids(tmp_path / "out.mldf")) == 4


@pytest.mark.parametrize("threads", ["0", "2"])
def test_ctrl_c_ends_the_program_too(tmp_path, threads):
    mark = tmp_path / "started"
    tokenizer = program(tmp_path, "pass", f"open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(600)")
    source = tmp_path / "rows.jsonl"
    source.write_text('{"text": "a"}\n')
    words = [MLDF, "pack", str(source), "--text", "text", "--tokenizer", tokenizer, "-o", str(tmp_path / "o.mldf"), "-j", threads]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    while not mark.exists() or not mark.read_text():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130, process.stderr.read()
    process.stderr.close()
    child = int(mark.read_text())
    for _ in range(500):
        if not pathlib.Path(f"/proc/{child}").exists():
            break
        time.sleep(0.02)
    assert not pathlib.Path(f"/proc/{child}").exists()
    assert list(tmp_path.glob("*.mldf*")) == []


def test_options_that_make_no_sense_are_refused(tmp_path):
    def refused(expected, *words):
        (tmp_path / "a.txt").write_text("a")
        line = [MLDF, "pack", str(tmp_path / "a.txt"), "-o", str(tmp_path / "o.mldf"), *words]
        done = subprocess.run(line, capture_output=True, text=True)
        assert done.returncode == 2 and expected in done.stderr, done.stderr

    refused("--text and --tokenizer are given together", "--text", "t")
    refused("need --text and --tokenizer", "--eos")
    refused("neither refuse nor replace", "--text", "t", "--tokenizer", "bytes", "--utf8", "drop")
    refused('tokenizer "words" is not known', "--text", "t", "--tokenizer", "words")
    refused("the quote ' in the command is not closed", "--text", "t", "--tokenizer", "exec:'a b")
    refused("names no eos", "--text", "t", "--tokenizer", "bytes", "--eos")
    refused("1 to 256 programs", "--text", "t", "--tokenizer", "bytes", "--tokenizer-processes", "1000")


def test_an_id_may_be_named_and_the_field_is_called_tokens(tmp_path):
    source = tmp_path / "rows.jsonl"
    source.write_text('{"text": "ab", "n": 1}\n{"text": "", "n": 2}\n')

    def run(*words):
        line = [MLDF, "pack", str(source), "--text", "text", "--tokenizer", "bytes", "-o", str(tmp_path / "o.mldf"), "-f", *words]
        return subprocess.run(line, capture_output=True, text=True)

    def arguments():
        info = subprocess.run([MLDF, "info", "--json", str(tmp_path / "o.mldf")], capture_output=True, text=True, check=True)
        (field,) = [f for f in json.loads(info.stdout)["fields"] if f["type"] == "text_tokenized"]
        assert field["name"] == "tokens"
        return field["arguments"]

    assert run("--eos", "256", "--bos=257").returncode == 0
    assert ids(tmp_path / "o.mldf") == [[257, 97, 98, 256], [257, 256]]
    assert {k: arguments()[k] for k in ("eos", "bos", "vocabulary")} == {"eos": 256, "bos": 257, "vocabulary": 258}
    shown = subprocess.run([MLDF, "head", str(tmp_path / "o.mldf")], capture_output=True, text=True, check=True).stdout
    assert '"ab"' in shown and "257" not in shown
    append = [MLDF, "append", str(tmp_path / "o.mldf"), str(source), "--text", "text", "--tokenizer", "bytes"]
    wrong = subprocess.run([*append, "--eos", "9"], capture_output=True, text=True)
    assert wrong.returncode == 1 and "vocabulary is 256, and 258" in wrong.stderr, wrong.stderr
    right = subprocess.run([*append, "--eos", "256", "--bos", "257"], capture_output=True, text=True)
    assert right.returncode == 0, right.stderr
    assert ids(tmp_path / "o.mldf") == [[257, 97, 98, 256], [257, 256]] * 2
    assert run("--eos", "10").returncode == 0
    assert ids(tmp_path / "o.mldf") == [[97, 98, 10], [10]] and arguments()["vocabulary"] == 256
    for words in (["--eos=x"], ["--eos=-1"], ["--eos", str(2**31)]):
        done = run(*words)
        assert done.returncode == 2 and "--eos" in done.stderr, done.stderr
    assert run("--tokenizer", f"sp:{tmp_path / 'none.model'}").returncode == 3


def test_an_id_may_be_named_in_python(tmp_path):
    source = tmp_path / "rows.jsonl"
    source.write_text('{"text": "ab"}\n')
    mldf.pack(source, tmp_path / "o.mldf", text="text", tokenizer="bytes", eos=256)
    assert ids(tmp_path / "o.mldf") == [[97, 98, 256]]
    with pytest.raises(ValueError, match="eos"):
        mldf.pack(source, tmp_path / "p.mldf", text="text", tokenizer="bytes", eos=-2)


# ---- Tokens shown as text ----

DECODES = """if kind == 2:
        rest = read(4 * total)
        got = struct.unpack(f"<{total}I", rest) if total else ()
        text = bytes(i - 1 for i in got if i)
        out(struct.pack("<IIQ", n, 2, len(text)) + struct.pack("<I", len(text)) + text)
        continue"""


def shown(path, *more, code=0):
    done = subprocess.run([MLDF, "head", str(path), *more], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stderr if code else done.stdout


def test_head_shows_tokens_as_text(tmp_path):
    texts = ["one", "", "zwölf", "x" * 300]
    pack(tmp_path, "bytes")
    out = tmp_path / "out.mldf"
    lines = [line.split(": ", 1)[1] for line in shown(out).splitlines() if "tokens: " in line]
    assert [json.loads(x) for x in lines] == [*texts[:3], "x" * 256 + "…"]
    assert '"' + "x" * 300 + '"' in shown(out, "--full")
    rows = [json.loads(line)["fields"]["tokens"] for line in shown(out, "--json", "--full").splitlines()]
    assert rows == [list(t.encode()) for t in texts]  # JSON lines are ids, unless text is asked for
    rows = [json.loads(line)["fields"]["tokens"] for line in shown(out, "--json", "--full", "--tokenizer", "bytes").splitlines()]
    assert rows == texts
    window = shown(out, "--view", "windows(tokens, 100)", "--fields", "tokens")
    assert window.count("x" * 100) == 3
    assert shown(out, "--raw", "tokens", "--samples", "0") == "one"


def test_head_asks_a_program_for_text(tmp_path):
    answers = program(tmp_path, 'hello["decode"] = True; hello["sha256"] = "ab" * 32')
    body = (tmp_path / "program.py").read_text()
    (tmp_path / "program.py").write_text(body.replace("    text = read(total)\n", "    " + DECODES + "\n    text = read(total)\n"))
    pack(tmp_path, answers, "--eos")
    out = tmp_path / "out.mldf"
    assert "tokens: [112,111,102,0]" in shown(out).replace(" ", "").replace("tokens:", "tokens: ")
    lines = [line.split(": ", 1)[1] for line in shown(out, "--tokenizer", answers, "--full").splitlines() if "tokens: " in line]
    assert [json.loads(x) for x in lines] == ["one", "", "zwölf", "x" * 300]
    body = (tmp_path / "program.py").read_text()
    (tmp_path / "program.py").write_text(body.replace('"ab" * 32', '"cd" * 32'))
    assert "field tokens was made with another file than plus-one" in shown(out, "--tokenizer", answers, code=1)
    (tmp_path / "program.py").write_text(body.replace('hello["decode"] = True; ', ""))
    assert "does not turn ids into text" in shown(out, "--tokenizer", answers, code=3)
    assert "needs --tokenizer" in shown(out, "--tokenizer-timeout", "3", code=2)

# Names in tar archives: keys that would leave the folder are not written, keys that are not UTF-8 are told of, no file is no sample.
cat >make.py <<'END'
import io, sys, tarfile
def tar(path, names):
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT, encoding="latin-1") as t:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 1
            t.addfile(info, io.BytesIO(b"1"))
tar("odd.tar", ["../up.txt", "a/../b.txt", "/abs.txt", "a//b.txt", "a/./b.txt", "a\nb.txt", "./fine.txt", "a/..b.txt", "c/d.txt", "fine.txt"])
tar("latin.tar", ["a.txt", "caf\xe9.txt", "c.txt"])
tar("other.tar", ["README", "folder/LICENSE"])
END
python3 make.py
mldf convert odd.tar -o odd.mldf -q 2>/dev/null || complain 'keys of any kind are fine in MLDF'
expect_error 1 "odd.mldf: sample 0" mldf convert odd.mldf -o odd2.tar
check grep -qF "the key '../up' with '..' in its path cannot be the name of a file in a tar archive" "$work/got.err"
check test ! -e odd2.tar
for format in tar tar.gz tar.zst; do
    mldf convert odd.mldf -o odd2.$format --on-error=skip --json -q >got.json || complain "skipping fails for $format"
    json 'd["written"] == 2 and [s["source"].split(": ")[1] for s in d["skipped"]] == ["../up", "a/../b", "/abs", "a//b", "a/./b", "a\nb", "fine"]' <got.json
    json '"with a control character" in d["skipped"][5]["message"] and "is that of sample 0 too" in d["skipped"][6]["message"]' <got.json
done
check test "$(tar -tf odd2.tar | tr '\n' ' ')" = './fine.txt c/d.txt '

# Samples are numbered as they stand in the archive; the member is named by its byte.
latin='the key caf\xe9 of the member at byte 1024 is not UTF-8'
expect 1 mldf verify latin.tar <<'END'
latin.tar: key: sample 1: the key caf\xe9 of the member at byte 1024 is not UTF-8; rename the file and make the archive again
latin.tar: 1 problem: 2 of 3 samples are good
END
mldf verify latin.tar --deep --json | json 'd["ok"] is False and d["good_samples"] == 2 and [(p["status"], p["sample"]) for p in d["problems"]] == [("key", 1)]'
expect 1 mldf cat latin.tar <<'END'
sample 0, key "a"
  txt: "1"
--- stderr
mldf cat: latin.tar: sample 1: the key caf\xe9 of the member at byte 1024 is not UTF-8; rename the file and make the archive again
END
for command in 'convert -o l.mldf' 'convert -o l.tar' 'pack -o l.mldf' 'extract -o l'; do
    # shellcheck disable=SC2086
    expect_error 1 "$latin" mldf $command latin.tar
    check test ! -e l.mldf -a ! -e l.tar -a ! -e l
done
gzip -k latin.tar
mldf verify latin.tar.gz 2>/dev/null | grep -qF "$latin" || complain 'verify of the compressed archive says nothing'
mldf convert latin.tar -o l.mldf --on-error=skip --json -q | json 'd["written"] == 2 and len(d["skipped"]) == 1'
mldf stats latin.tar --json | json 'd["num_samples"] == 3'

# No samples, in both directions.
printf 'a,b\n' >none.csv
mldf pack none.csv -o none.mldf -q 2>/dev/null
for format in tar tar.gz tar.zst; do
    # With fields, the archive of no samples brings them back.
    mldf convert none.mldf -o fields.$format -q
    for command in convert pack; do
        mldf $command fields.$format -o back.mldf -f -q
        mldf info back.mldf --json | json '[f["name"] for f in d["fields"]] == ["a", "b"] and d["num_samples"] == 0'
    done
done
tar -cf none.tar -T /dev/null
gzip -k none.tar
zstd -q none.tar -o none.tar.zst
for format in tar tar.gz tar.zst; do
    mldf verify none.$format --json -q | json 'd["ok"] and d["num_samples"] == 0'
    mldf info none.$format --json | json 'd["num_samples"] == 0 and d["fields"] == []'
    for command in convert pack; do
        mldf $command none.$format -o back.mldf -f -q || complain "$command of an empty $format fails"
        mldf verify back.mldf -q --json | json 'd["ok"] and d["num_samples"] == 0'
        mldf info back.mldf --json | json '[(f["name"], f["type"]) for f in d["fields"]] == [("bin", "bytes")]'
    done
    expect 0 mldf cat none.$format </dev/null
    # Beside others it says nothing about their fields.
    for order in "none.$format c.tar" "c.tar none.$format"; do
        [ -e c.tar ] || tar -cf c.tar none.csv
        # shellcheck disable=SC2086
        mldf convert $order -o both.mldf -f -q
        mldf info both.mldf --json | json '[(f["name"], f["nullable"]) for f in d["fields"]] == [("csv", False)]'
    done
done
check test -z "$(tar -tf none.tar)"
mldf verify other.tar >got.out 2>&1 && complain 'an archive of other files is a dataset'
check grep -qF 'the archive holds no samples (files with a name and an extension)' got.out

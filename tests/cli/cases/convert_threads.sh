# convert with any number of threads: the same bytes, the same error, the same list of what was left out.
images=$source_dir/tests/data/images

# ---- The same bytes, for every format ---------------------------------------------------------------------------------------
mkdir -p many/{a,b}
for n in $(seq -w 1 40); do
    cp "$images/rgb.png" many/a/$n.png
    cp "$images/rgb.jpg" many/b/$n.jpg
    cp "$images/gray.jpg" many/b/g$n.jpg
    cp "$images/sixteen.png" many/a/s$n.png
done
mldf pack many -o many.mldf -q
mldf pack many -o pixels.mldf -q --encode raw --compress image
for source in many pixels; do
    for to in mldf tbl1 tbl2 beton tar tar.gz tar.zst; do
        more=()
        [ $to = tbl1 ] && more=(--fields image)
        case $to in tar*)
            # Keys with dots have no place in a tar.
            mldf select $source.mldf -o numbers.mldf -q -f --fields image,label
            mldf convert numbers.mldf -o numbers.tbl -q -f
            from=numbers.tbl more=(--fields image,metadata) ;;
        *) from=$source.mldf ;;
        esac
        for j in 0 1 2 7; do
            mldf convert $from -o $j.$to --to $to -q -j $j "${more[@]}" 2>warned || complain "$source to $to with -j $j"
            check cmp 0.$to $j.$to
        done
        check mldf verify -q 0.$to >verified
        rm -- [0127].$to
    done
done
for j in 0 1 2 7; do mldf convert pixels.mldf -o lz$j.tbl --lz4 -q -j $j; done 2>warned
for j in 1 2 7; do check cmp lz0.tbl lz$j.tbl; done

# ---- Samples that are damaged -----------------------------------------------------------------------------------------------
python3 - <<'END'
import json
with open("rows.jsonl", "w") as f:
    for i in range(300):
        f.write(json.dumps({"t": "payload-%04d-%s" % (i, "x" * (i % 50)), "n": i}) + "\n")
END
mldf pack rows.jsonl -o rows.mldf -q
python3 - <<'END'
data = open("rows.mldf", "rb").read()
for n in 70, 210, 299:
    old = b"payload-%04d" % n
    assert data.count(old) == 1
    data = data.replace(old, old.replace(b"load", b"lode"))
open("bad.mldf", "wb").write(data)
END
mldf select rows.mldf -o rest.mldf -q --samples 0:70,71:210,211:299
for to in mldf tar tar.gz beton; do
    for j in 0 1 2 7; do
        expect_error 1 'bad.mldf: sample 70, field t: ' mldf convert bad.mldf -o x.$to --to $to -j $j
        check test ! -e x.$to
        mldf convert bad.mldf -o skip$j.$to --to $to -j $j --on-error=skip --json -q >said || complain "--on-error=skip: $to -j $j"
        json '[s["source"] for s in d["skipped"]] == ["bad.mldf: sample 70", "bad.mldf: sample 210", "bad.mldf: sample 299"] and
            "CRC" in d["skipped"][0]["message"] and d["written"] == 297' <said
        check cmp skip0.$to skip$j.$to
    done
    expect 0 mldf diff rest.mldf skip0.mldf <<'END'
END
done
# Of two sources, the right one is named, and counted from its own beginning.
for j in 0 2; do
    expect_error 1 'bad.mldf: sample 70, field t: ' mldf convert rows.mldf bad.mldf -o x.mldf -j $j
    mldf convert rows.mldf bad.mldf -o two$j.mldf -j $j --on-error=skip --json -q |
        json '[s["source"] for s in d["skipped"]] == ["bad.mldf: sample 70", "bad.mldf: sample 210", "bad.mldf: sample 299"] and d["written"] == 597'
done
check cmp two0.mldf two2.mldf

# ---- Bad for the writer before bad to read ----------------------------------------------------------------------------------
python3 - <<'END'
import io, tarfile
with tarfile.open("parts.tar", "w", format=tarfile.USTAR_FORMAT, encoding="latin-1") as tar:
    for n in range(100, 200):
        key = "\xff%d" % n if n in (120, 180) else str(n)
        for part, data in ("txt", b"text " * (n % 9)), ("cls", b"many" if n == 150 else b"%d" % n):
            info = tarfile.TarInfo("%s.%s" % (key, part))
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
END
for j in 0 1 2 7; do
    expect_error 1 'sample 20: the key \xff120 of the member at byte 39936 is not UTF-8' mldf convert parts.tar -o x.mldf -j $j
    check test ! -e x.mldf
    mldf convert parts.tar -o parts$j.mldf -j $j --on-error=skip --json -q >said 2>warned
    python3 -c 'import json
d = json.loads(open("said", "rb").read().decode("utf-8", "replace"))
assert [s["source"].split(": ")[1][-3:] for s in d["skipped"]] == ["120", "150", "180"] and d["written"] == 97, d' || complain "the list of -j $j"
    check cmp parts0.mldf parts$j.mldf
done

# ---- A sample that the format cannot hold -----------------------------------------------------------------------------------
printf '{"k":"a","v":1}\n{"k":"b.c","v":2}\n{"k":"d","v":null}\n{"k":"e","v":4}\n' >keys.jsonl
mldf pack keys.jsonl -o keys.mldf -q --key-column k
expect_error 1 'sample 1' mldf convert keys.mldf -o x.tar
mldf convert keys.mldf -o keys.tar --on-error=skip --json -q |
    json '[s["source"] for s in d["skipped"]] == ["keys.mldf: b.c", "keys.mldf: d"] and d["written"] == 2'
check test "$(tar tf keys.tar | grep -v __mldf | tr '\n' ' ')" = "a.v.cls e.v.cls "
expect_error 1 'sample 2, field v: the value is null' mldf convert keys.mldf -o x.beton
mldf convert keys.mldf -o keys.beton --on-error=skip --json -q 2>warned | json 'len(d["skipped"]) == 1 and d["written"] == 3'
expect_error 2 '--on-error' mldf convert keys.mldf -o x.tar --on-error=maybe

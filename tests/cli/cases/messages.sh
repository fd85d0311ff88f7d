# Messages that tell what to do: one wording for a name that is taken, what a file is that is none of ours, hints for wrong inputs.
printf 'a,t\n1,one\n2,two\n3,three\n' >a.csv
mldf pack a.csv -o a.mldf -q
mkdir taken && touch taken/x
cp a.mldf b.mldf
for words in 'pack a.csv -o b.mldf' 'convert a.mldf -o b.mldf' 'merge a.mldf a.mldf -o b.mldf' 'select a.mldf -o b.mldf --samples 0' \
    'repack a.mldf -o b.mldf' 'repair a.mldf -o b.mldf'; do
    # shellcheck disable=SC2086
    expect 3 mldf $words <<END
--- stderr
mldf ${words%% *}: b.mldf: already exists; use -f to overwrite it (Python: overwrite=True)
END
done
expect 3 mldf stats a.mldf --svg b.mldf <<'END'
--- stderr
mldf stats: b.mldf: already exists; use -f to overwrite it
END
expect 3 mldf extract a.mldf -o taken <<'END'
--- stderr
mldf extract: taken: already exists and is not empty; use -f to write into it (Python: overwrite=True)
END

# verify: the file's name once, many files, one result each; 1 when any is bad, whatever else is wrong.
python3 -c 'd=bytearray(open("a.mldf","rb").read()); i=d.index(b"two"); d[i]^=1; open("hit.mldf","wb").write(d)'
mldf verify hit.mldf a.mldf none.mldf >out 2>err
check test $? -eq 1
check grep -q '^hit.mldf: checksum: sample 1, field t: ' out
check grep -qx 'hit.mldf: 1 problem: 2 of 3 samples are good' out
check grep -qx 'a.mldf: ok: 3 samples' out
check grep -qx 'mldf verify: none.mldf: cannot be opened: No such file or directory' err
mldf verify a.mldf none.mldf >/dev/null 2>&1
check test $? -eq 3
mldf verify --json hit.mldf a.mldf | json '[x["file"] for x in d] == ["hit.mldf", "a.mldf"] and [x["ok"] for x in d] == [False, True]'
mldf pack a.csv -o plain.mldf -q --no-checksums
expect 0 mldf verify plain.mldf <<'END'
plain.mldf: ok: 3 samples
--- stderr
mldf verify: plain.mldf: has no checksums: only its structure was checked
END
expect 0 mldf verify --deep plain.mldf <<'END'
plain.mldf: ok: 3 samples
--- stderr
mldf verify: plain.mldf: has no checksums: every value was decoded, but a changed value is not noticed
END

# A 1.0 file whose allocation table is cut: one line, however many rows lost their entry.
draft=$source_dir/tests/golden/draft/media_208.mldf
head -c $(($(stat -c %s "$draft") - 100)) "$draft" >cut10.mldf
mldf verify cut10.mldf >out
check test $? -eq 1
check test "$(wc -l <out)" -eq 2
check grep -q '^cut10.mldf: truncated: sample 3: the allocation table ends with the file, after 19 entries, and 7 values from row 3 on are missing in it' out

# repair does not recommend what has just failed, counts what it saved, and says what -o would do.
mldf repair hit.mldf -o saved.mldf >out
check test $? -eq 1
check grep -q '^hit.mldf: lost: sample 1, field t: ' out
check grep -qx 'saved.mldf: 2 samples saved: copied the samples that are whole; lost: 1 sample' out
rows=$(mldf info --json a.mldf | python3 -c 'import json, sys; print(json.load(sys.stdin)["header"]["metadata_ptr"])')
head -c $((rows + 60)) a.mldf >cut.mldf
mldf repair cut.mldf 2>err
check test $? -eq 1
check grep -q 'cannot be repaired in place: .*; with -o OUT, what is whole of [12] samples* goes into a new file$' err
check test "$(grep -c 'mldf repair -o OUT' err)" -eq 0
head -c $((rows - 8)) a.mldf >cut.mldf
for words in 'repair cut.mldf' 'repair cut.mldf -o none.mldf' 'info cut.mldf'; do
    # shellcheck disable=SC2086
    mldf $words 2>err
    check test $? -eq 1
    check grep -q "it was cut before its rows, which began at byte $rows and say where each sample is" err
done

# What a file is that is none of ours, and which command takes it.
# shellcheck disable=SC2016
expect_error 1 'it is text; `mldf pack` makes a dataset of CSV and JSON lines' mldf info a.csv
printf '\377\330\377\340' >x.jpg
# shellcheck disable=SC2016
expect_error 1 'it is a JPEG image; `mldf pack` makes a dataset of a folder of images' mldf info x.jpg
printf 'zzz\0' >z.bin
expect_error 1 'they are 7a 7a 7a 00' mldf info z.bin
python3 - <<'END'
d = open("a.mldf", "rb").read()
open("lf.mldf", "wb").write(d.replace(b"\r\n", b"\n"))
open("crlf.mldf", "wb").write(d.replace(b"\n", b"\r\n"))
open("utf8.mldf", "wb").write(d.decode("latin-1").encode())
END
expect_error 1 'converted as text on its way (CR LF became LF): copy it again, in binary mode' mldf info lf.mldf
mldf verify crlf.mldf >out
check grep -q 'converted as text on its way (LF became CR LF)' out
expect_error 1 'its bytes were encoded as UTF-8' mldf info utf8.mldf
mkdir images && printf zzz >images/a.jpg
expect_error 1 'not an image: its 3 bytes are 7a 7a 7a;' mldf pack images -o x.mldf

# Hints.
expect_error 2 'no option is named --verison: did you mean --version?' mldf --verison
expect_error 2 'did you mean --max-resolution N' mldf pack a.csv -o x.mldf --resize 224
expect_error 3 's3://bucket/a.mldf: cannot be opened: only local files are read; copy it here first' mldf info s3://bucket/a.mldf
expect_error 2 'there is no operation RandomResizedCrop; here it is random_resized_crop' mldf bench a.mldf -p 'a: RandomResizedCrop(224)'
expect_error 2 'there is no operation ToTensor; here it is chw(f32)' mldf bench a.mldf -p 'a: ToTensor()'
expect_error 2 'height and width are one argument: resize([224, 224])' mldf bench a.mldf -p 'a: resize(224, 224)'
expect_error 2 'height and width are one argument: random_resized_crop([224, 192])' mldf bench a.mldf -p 'a: random_resized_crop(224, 192)'

# A key file: for its owner alone, never overwritten, and good for --encrypt.
expect 0 mldf keygen secret.key -q </dev/null
check test "$(stat -c %a secret.key)" = 600
check grep -Eqx '[0-9a-f]{64}' secret.key
expect_error 3 'secret.key: already exists; a key is never overwritten: remove it first' mldf keygen secret.key
mldf pack a.csv -o e.mldf -q --encrypt secret.key
mldf keygen other.key -q
check test "$(cat secret.key)" != "$(cat other.key)"
check mldf verify -q --deep --key secret.key e.mldf
expect_error 3 '' mldf cat --key other.key e.mldf
for command in pack merge repack convert select split; do
    mldf $command --help >out
    check grep -q 'keys,$' out
    check grep -q 'labels, names of fields and card stay readable (mldf keygen makes a key file)' out
done

# zstd on images that are compressed already.
python3 - <<'END'
import os, struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
os.makedirs("pngs")
open("pngs/a.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0)) +
                               chunk(b"IDAT", zlib.compress(b"\0ab\0cd")) + chunk(b"IEND", b""))
END
expect_error 0 'warning: field image: zstd does not make JPEG, PNG or WebP images smaller' mldf pack pngs -o z.mldf --compress image
mldf pack pngs -o raw.mldf --compress image --encode raw 2>err
check test "$(grep -c zstd err)" -eq 0

# Less than half a second of work gives no verdict.
mldf bench a.mldf -p 'a: cast(f32)' >out
check grep -q '^no verdict: 0.* s of work is too little' out

# A small file has no large page in front: 3 MB of data make 3 MB.
python3 -c 'import json, random
random.seed(1)
for i in range(60): print(json.dumps({"t": "".join(random.choices("abcdefgh", k=50000))}))' >big.jsonl
mldf pack big.jsonl -o big.mldf -q
check test "$(stat -c %s big.mldf)" -lt 3100000
mldf info --json big.mldf | json 'd["page_size"] == 4096 and d["fill_ratio"] > 0.99 and d["header"]["data_ptr"] == 4096 and d["pages"] > 700'
# Words of other programs, and slips: what they are here.
printf 'n\n1\n' >n.csv
mldf pack n.csv -o n.mldf -q
expect_error 2 'there is no operation RandomResizedCrop; here it is random_resized_crop' mldf bench n.mldf -p 'n: RandomResizedCrop(224)'
expect_error 2 'resize: height and width are one argument: resize([224, 224])' mldf bench n.mldf -p 'n: resize(224, 224)'
expect_error 2 "no option is named --resize: did you mean -p 'image: resize([H, W])'?" mldf bench n.mldf --resize 224
expect_error 2 'no option is named --resize: did you mean --max-resolution N' mldf pack n.csv -o x.mldf --resize 224
expect_error 2 'no option is named --verison: did you mean --version?' mldf --verison
expect_error 2 'no option is named --verison: did you mean --version?' mldf info --verison
expect_error 2 "no command is named 'version': did you mean '--version'?" mldf version
expect_error 3 's3://bucket/photos: cannot be opened: only local files are read; copy it here first' mldf pack s3://bucket/photos -o x.mldf
# A tar archive is never encrypted: tar_to_tbl has no options for keys.
ln -s "$MLDF" tar_to_tbl
check test -z "$(./tar_to_tbl --help | grep -e '--key' -e '--passphrase')"
expect_error 2 'no option is named --key' ./tar_to_tbl --key k a.tar b.tbl

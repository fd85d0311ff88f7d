# Files of other kinds, and archives that are not what they seem: said, not guessed.
mkdir parts
for i in 1 2 3; do echo $i >parts/s$i.cls; done
tar cf a.tar -C parts s1.cls s2.cls
tar cf b.tar -C parts s3.cls

# Two archives made one with cat: tar itself reads the first alone, and so do we, but not in silence.
cat a.tar b.tar >joined.tar
for command in 'cat joined.tar' 'verify joined.tar' 'pack joined.tar -o j.mldf -f' 'convert joined.tar -o j.mldf -f'; do
    # shellcheck disable=SC2086
    expect_error 0 'joined.tar: s2.cls: the archive'\''s end mark follows this member, and what follows it is ignored' mldf $command
done
mldf pack joined.tar -o j.mldf -f --json -q | json 'd["written"] == 2 and len(d["warnings"]) == 1 and d["warnings"][0]["source"] == "joined.tar"'
tar cf wide.tar -b 40 -C parts s1.cls # zeros to a larger record are nothing to talk about
mldf pack wide.tar -o w.mldf -f --json -q | json 'd["warnings"] == []'

# The checksum of a compressed archive stands at its end, behind the archive's own.
gzip -kn a.tar
python3 - <<'PY'
data = bytearray(open("a.tar.gz", "rb").read())
open("cut.tar.gz", "wb").write(data[:-4])
data[-6] ^= 1
open("bad.tar.gz", "wb").write(data)
PY
for name in bad cut; do
    expect_error 1 "$name.tar.gz: " mldf pack $name.tar.gz -o x.mldf
    INPUT=$name.tar.gz expect_error 1 '(standard input): ' mldf pack - --format tar -o x.mldf
    expect_error 1 "$name.tar.gz: " mldf convert $name.tar.gz -o x.mldf
done
check test ! -e x.mldf
cp b.tar again.tar
python3 - <<'PY'
data = bytearray(open("again.tar", "rb").read())
data[150] ^= 1
open("again.tar", "wb").write(data)
PY
expect_error 1 'again.tar: no tar header at byte 0' mldf pack a.tar again.tar -o x.mldf

# What is neither is named.
python3 - <<'PY'
import bz2, gzip, lzma
tar = open("a.tar", "rb").read()
open("t.csv.bz2", "wb").write(bz2.compress(b"a\n1\n"))
open("t.csv.xz", "wb").write(lzma.compress(b"a\n1\n"))
open("t.csv.gz", "wb").write(gzip.compress(b"a\n1\n"))
open("utf16.csv", "wb").write("a,b\n1,2\n".encode("utf-16"))
open("t.parquet", "wb").write(b"PAR1" + bytes(600))
PY
stranger() { # file what
    expect_error 3 "$1: is $2" mldf pack "$1" -o x.mldf
    expect_error 1 "it is $2" mldf info "$1"
}
expect_error 3 't.csv.bz2: is compressed with bzip2' mldf pack t.csv.bz2 -o x.mldf
expect_error 3 't.csv.xz: is compressed with xz' mldf pack t.csv.xz -o x.mldf
stranger utf16.csv 'text in UTF-16'
stranger t.parquet 'a Parquet file'
expect_error 1 'it is a JPEG image' mldf info "$source_dir/tests/data/images/rgb.jpg"
mldf pack "$source_dir/tests/data/images/rgb.jpg" -o one.mldf -q || complain 'one image is not packed'
expect_error 3 't.csv.gz: is compressed with gzip' mldf pack t.csv.gz -o x.mldf
check test ! -e x.mldf

# What only MLDF files can do is not said of a whole file of another format as if it were damaged.
for file in a.tar "$source_dir/tests/golden/tbl/v1_4samples.tbl"; do
    cp "$file" foreign
    expect_error 2 'foreign: is a t' mldf repair foreign
    expect_error 2 'repair works on MLDF files' mldf repair foreign -o x.mldf
    expect_error 2 'only MLDF files grow' mldf append foreign parts/s1.cls --format csv
    expect_error 2 'only MLDF files grow' mldf add-field foreign n=parts/s1.cls --format csv
    check cmp foreign "$file"
done
expect_error 1 'nothing can be saved' mldf repair t.parquet -o x.mldf
expect_error 2 'is a TBL file: convert makes MLDF of it' mldf pack "$source_dir/tests/golden/tbl/v2_comp_meta.tbl" -o x.mldf
printf 'a\n1\n' >t.csv
mldf pack t.csv -o t.mldf -q
mldf convert t.mldf -o t.beton -q
expect_error 2 'is a .beton file: convert makes MLDF of it' mldf pack t.beton -o x.mldf
check test ! -e x.mldf
# An archive without members is still an archive, of no samples; zeros that no tar program writes are not.
tar cf empty.tar -T /dev/null
mldf select t.mldf --where 'a > 1' -o none.mldf -q
mldf convert none.mldf -o none.tar -q
head -c 1024 /dev/zero >short.tar
for file in empty.tar none.tar short.tar; do
    mldf info --json $file | json 'd["format"] == "tar" and d["num_samples"] == 0'
done
head -c 4096 /dev/zero >lost.tar
expect_error 1 'not an MLDF file' mldf info lost.tar

# A folder is named as one, with the command that takes it.
for command in info head stats verify 'bench --epochs 1' 'convert -o x.mldf'; do
    # shellcheck disable=SC2086
    expect_error 3 'parts: is a folder, not a regular file; `mldf pack` makes a dataset of the files in a folder' mldf $command parts
done

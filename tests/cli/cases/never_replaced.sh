# -f replaces what is to be written, never what is read: not by stats, convert and tar_to_tbl either.
printf 'k,a,t\nx,1,one\ny,2,two\n' >rows.csv
mldf pack rows.csv --key-column k -o rows.mldf -q
mldf convert rows.mldf -o rows.tar -q
cp rows.mldf before.mldf
cp rows.tar before.tar
head -c 32 /dev/zero >key
ln -s rows.mldf link.mldf
expect_error 2 'rows.mldf is the same file as rows.mldf' mldf stats rows.mldf --svg rows.mldf -f
expect_error 2 'same file as link.mldf' mldf stats link.mldf --svg rows.mldf -f
expect_error 2 'same file as --key key' mldf stats rows.mldf --key key --svg key -f
expect_error 2 'same file as rows.tar' mldf convert rows.tar -o rows.tar -f
expect_error 2 'same file as rows.mldf' mldf convert rows.tar rows.mldf -o link.mldf -f
expect_error 2 'same file as --key key' mldf convert rows.mldf --key key -o key --to mldf -f
ln -s "$MLDF" tar_to_tbl
expect_error 2 './rows.tar: is the same file as rows.tar, which is read and not replaced' ./tar_to_tbl rows.tar ./rows.tar -f
# Braces stand for files, too.
cp rows.csv rows1.csv
cp rows.mldf rows1.mldf
expect_error 2 'rows1.csv: is the same file as rows1.csv, which is read and not replaced' mldf pack 'rows{,1}.csv' -o rows1.csv -f
expect_error 2 'rows1.mldf: is the same file as rows1.mldf, which is read and not replaced' mldf convert 'rows{1..1}.mldf' -o rows1.mldf -f
check cmp rows1.csv rows.csv
check cmp rows1.mldf rows.mldf
# Nor do merge, select and repair replace what they read, by whatever name.
expect_error 2 'link.mldf: is the same file as rows.mldf, which is read and not replaced' mldf merge rows1.mldf rows.mldf -o link.mldf -f
expect_error 2 'link.mldf: is the same file as rows.mldf, which is read and not replaced' mldf select rows.mldf --samples 0 -o link.mldf -f
expect_error 2 'link.mldf: is the same file as rows.mldf, which is read and not replaced' mldf repair rows.mldf -o link.mldf -f
# An image of a folder, and a file that a table names, are read too; what the folder holds beside its images is not.
images=$source_dir/tests/data/images
mkdir -p set/img && cp "$images"/{rgb.jpg,rgb.png} set/img/
ln -s img/rgb.png set/other.png
expect_error 2 'set/img/rgb.jpg: is the same file as set/img/rgb.jpg, which is read and not replaced' mldf pack -f set/img -o set/img/rgb.jpg
expect_error 2 'set/other.png: is the same file as set/img/rgb.png, which is' mldf pack -f set/img -o set/other.png --on-error=skip
printf 'image\nimg/rgb.jpg\nimg/rgb.png\n' >set/list.csv
printf '{"image":"img/rgb.png"}\n' >set/list.jsonl
expect_error 2 "set/list.csv:3:1: column 'image' (image): set/img/rgb.png: is the same file as set/img/rgb.png, which is" \
    mldf pack -f set/list.csv --files image -o set/img/rgb.png
expect_error 2 'set/img/rgb.png: is the same file as set/img/rgb.png' mldf pack -f set/list.csv --files image -o set/img/rgb.png --on-error=skip
expect_error 2 'set/other.png: is the same file as set/img/rgb.png' mldf pack -f set/list.jsonl --files image -o set/other.png
check cmp set/img/rgb.jpg "$images/rgb.jpg"
check cmp set/img/rgb.png "$images/rgb.png"
expect_error 0 '' mldf pack set/img -o set/img/all.mldf -q
expect_error 0 '' mldf pack -f set/img -o set/img/all.mldf -q
check test "$(ls set/img | xargs)" = 'all.mldf rgb.jpg rgb.png'
# Nor does extract, which fills a folder that may hold its source: as the list of what it has, or as a value of a sample.
mkdir filled
for name in manifest.jsonl y.txt; do
    cp rows.mldf filled/$name
    ln -sf filled/$name filled.link
    expect_error 2 "is the same file as filled.link, which is read and not replaced" mldf extract filled.link -o filled/ -f
    check cmp rows.mldf filled/$name
    check test "$(ls -A filled)" = $name
    rm filled/$name
done
check cmp rows.mldf before.mldf
check cmp rows.tar before.tar
check cmp key <(head -c 32 /dev/zero)
expect_error 3 'exists' mldf stats rows.mldf --svg before.tar
# --svg - is the drawing on standard output, and nothing else.
mldf stats rows.mldf --svg drawn.svg >table
mldf stats rows.mldf --svg - >stream.svg
check cmp drawn.svg stream.svg
check test ! -e ./-
expect_error 2 'standard output' mldf stats rows.mldf --svg - --json

# - where a stream makes no sense is wrong usage, not a file of that name; small files may come through it.
for words in 'info -' 'cat -' 'verify -' 'diff rows.mldf -' 'stats -' 'repack -' 'repair -' 'bench -' 'merge rows.mldf - -o m.mldf' \
    'select - -o m.mldf --samples 0' 'split - -o m{}.mldf --count 1' 'append - rows.csv' 'add-field - n=rows.csv' 'extract - -o folder'; do
    # shellcheck disable=SC2086
    expect_error 2 'random access is needed' mldf $words
done
expect_error 2 'extract fills a folder' mldf extract rows.mldf -o -
check test ! -e ./-
printf '{"title":"by pipe"}' >card.json
INPUT=card.json expect_error 0 '' mldf pack rows.csv -o carded.mldf --card - -q
mldf info --json carded.mldf | json 'd["card"] == {"title": "by pipe"}'
INPUT=rows.csv expect_error 2 'for one thing only' mldf pack - --card - -o x.mldf
INPUT=card.json expect_error 2 'for one thing only' mldf pack rows.csv --card - --schema - -o x.mldf
INPUT=/dev/null expect_error 1 '(standard input): the file ends after 0 bytes' mldf convert - -o x.mldf

# -q keeps messages back, errors never.
expect_error 1 'there is no sample 9' mldf cat -q --samples 9 rows.mldf
expect_error 1 'there is no sample 9' mldf select -q --samples 9 rows.mldf -o x.mldf
# A source that is not there is told as that, whatever else would be wrong with it.
expect_error 3 'nosuch.csv: cannot be opened' mldf append rows.mldf nosuch.csv
check test ! -e x.mldf

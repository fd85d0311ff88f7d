# What the environment refuses: exit code 3, nothing left over, the old file intact.
printf 'a\n1\n' >a.csv
mldf pack a.csv -o a.mldf -q
cp a.mldf before.mldf
expect 3 mldf info nosuch.mldf <<'END'
--- stderr
mldf info: nosuch.mldf: cannot be opened: No such file or directory
END
mkdir folder
expect_error 3 'folder' mldf info folder
expect 1 mldf info a.csv <<'END'
--- stderr
mldf info: a.csv: not an MLDF file: its first bytes are not the magic number; it is text; `mldf pack` makes a dataset of CSV and JSON lines
END
expect 3 mldf pack a.csv -o a.mldf <<'END'
--- stderr
mldf pack: a.mldf: already exists; use -f to overwrite it (Python: overwrite=True)
END
check cmp -s a.mldf before.mldf
expect_error 0 '' mldf pack a.csv -o a.mldf -f
expect_error 3 'nosuch.csv' mldf pack nosuch.csv -o b.mldf
expect_error 3 'nosuch/b.mldf' mldf pack a.csv -o nosuch/b.mldf
expect_error 3 'a.csv/b.mldf' mldf pack a.csv -o a.csv/b.mldf
expect_error 3 'nosuch.json' mldf pack a.csv -o b.mldf --schema nosuch.json
check test ! -e b.mldf
# Results that cannot be written.
expect_error 3 'standard output' bash -c '"$0" info a.mldf >&-' "$MLDF"
if [ -e /dev/full ]; then
    expect_error 3 'No space left on device' bash -c '"$0" cat a.mldf >/dev/full' "$MLDF"
fi
# A reader that has seen enough is no error to talk about.
seq 200000 | sed '1i n' >many.csv
mldf pack many.csv -o many.mldf -q
mldf cat many.mldf 2>pipe.err | head -n 1 >pipe.out
check test ! -s pipe.err
check grep -q 'sample 0' pipe.out
# A folder that may not be written.
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked && chmod 555 locked
    expect_error 3 'locked' mldf pack a.csv -o locked/b.mldf
elif command -v setpriv >/dev/null && setpriv --reuid=65534 --regid=65534 --clear-groups test -r a.csv -a -x "$MLDF" 2>/dev/null; then
    mkdir locked && chmod 555 locked
    expect_error 3 'locked' setpriv --reuid=65534 --regid=65534 --clear-groups "$MLDF" pack a.csv -o locked/b.mldf
else
    skip "a read-only folder: root may write everywhere, and another user cannot be used here"
fi
# A limit on the size of files, and one on the number of threads.
limited() { # blocks of 1024 bytes, command...
    (
        ulimit -f "$1"
        shift
        mldf "$@"
    )
}
sed 's/^n$/a/' many.csv >more.csv
mldf pack more.csv -o grown.mldf -q
cp grown.mldf before.grown
expect_error 3 'File too large' limited 64 pack many.csv -o limited.mldf
expect_error 3 'File too large' limited 64 convert many.mldf -o limited.tar
expect_error 3 'File too large' limited 64 extract many.mldf -o limited.folder --fields n
expect_error 3 'File too large' limited $(($(stat -c %s grown.mldf) / 1024 + 8)) append grown.mldf more.csv
check cmp -s grown.mldf before.grown
check test -z "$(ls -d limited.* .limited.* 2>/dev/null)"
if command -v setpriv >/dev/null && setpriv --reuid=65534 --regid=65534 --clear-groups test -r many.mldf -a -x "$MLDF" 2>/dev/null &&
    ! setpriv --reuid=65534 --regid=65534 --clear-groups prlimit --nproc=0 sh -c 'true & wait $!' 2>/dev/null; then # not every sandbox has this limit
    # The leak check wants a thread of its own.
    expect_error 3 'no thread can be started' env ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" setpriv --reuid=65534 --regid=65534 --clear-groups prlimit --nproc=0 "$MLDF" bench many.mldf -j 4
fi
check test -z "$(ls -A | grep -F .tmp)"
# -f replaces OUT, but never a file that the command reads.
cp a.csv before.csv
head -c 32 /dev/zero >key
printf '{"title":"t"}' >card.json
printf '[{"name":"a","type":"int"}]' >schema.json
ln -s a.csv link.csv
ln a.csv hard.csv
for out in a.csv ./a.csv link.csv hard.csv; do
    expect_error 2 'same file as a.csv' mldf pack a.csv -o "$out" -f
done
expect_error 2 'same file as --encrypt key' mldf pack a.csv -o key -f --encrypt key
expect_error 2 'same file as --card card.json' mldf pack a.csv -o card.json -f --card card.json
expect_error 2 'same file as --schema schema.json' mldf pack a.csv -o schema.json -f --schema schema.json
expect_error 2 'same file as --encrypt key' mldf repack a.mldf -o key -f --encrypt key
expect_error 2 'same file as a.mldf' mldf repair a.mldf -o a.mldf -f
check cmp -s a.csv before.csv
check cmp -s key <(head -c 32 /dev/zero)
expect_error 0 '' mldf repack a.mldf -o a.mldf -f

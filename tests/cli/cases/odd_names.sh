# Names from files and folders: none of them writes on the terminal, and what no sample can be made of is said, with its place.
esc=$'\033[31m'
plain() { # file: no control characters but line ends
    if LC_ALL=C grep -q '[[:cntrl:]]' "$1"; then
        complain "control characters in $1"
        cat -v "$1"
    fi
}
mkdir -p "folder/class$esc"
printf 'x' >"folder/class$esc/a$esc.jpg"
expect_error 0 'skipped folder/class?[31m/a?[31m.jpg: not an image' mldf pack folder -o f.mldf --on-error=skip
tar cf odd.tar "folder/class$esc/a$esc.jpg"
expect_error 0 'skipped odd.tar: folder/class?[31m/a?[31m: .jpg' mldf pack odd.tar -o t.mldf --on-error=skip
mldf pack odd.tar -o t.mldf -f --on-error=skip --json -q | json 'd["skipped"][0]["source"] == "odd.tar: folder/class\x1b[31m/a\x1b[31m"'

# Those of the command line, in messages and in results.
printf 'k,n\n"a\033[31m",1\nb,2\n' >a.csv
printf 'k,n\nc,1\nb,2\n' >b.csv
mldf pack b.csv --key-column k -o b.mldf -q
expect_error 0 'a?[31m.mldf: 2 samples written' mldf pack a.csv --key-column k -o "a$esc.mldf"
head -c 60 "a$esc.mldf" >"cut$esc"
for command in info verify stats 'diff b.mldf' repair 'split --count 1 -o part{} -f'; do
    # shellcheck disable=SC2086
    mldf $command "a$esc.mldf" >said 2>&1
    plain said
    check test -s said
done
mldf verify "cut$esc" >said 2>&1
plain said
check grep -qF 'cut?[31m: truncated: ' said
cp odd.tar "in$esc.tar"
"$(dirname "$MLDF")/tar_to_tbl" "in$esc.tar" "out$esc.tbl" >said 2>&1
plain said
check grep -qxE 'Output:  out\?\[31m.tbl \(.*\)' said

# A source that is not there is no table.
printf 'n\n1\n' >n.csv
expect_error 3 'nosuch: cannot be opened: No such file or directory' mldf pack folder nosuch -o x.mldf
expect_error 3 'nosuch: cannot be opened: No such file or directory' mldf pack nosuch folder -o x.mldf
expect_error 3 'nosuch.tar: cannot be opened: No such file or directory' mldf pack n.csv nosuch.tar -o x.mldf
expect_error 2 'one run packs sources of one kind' mldf pack n.csv folder -o x.mldf

# Members without an extension are no parts of samples, and an extension that no field can have is said with its archive.
mkdir parts
printf 1 >parts/a.cls
printf 1 >parts/b.
tar cf dot.tar -C parts a.cls b.
expect_error 0 'dot.tar: b.: no part of a sample (a name is KEY.EXTENSION), skipped' mldf pack dot.tar -o dot.mldf
expect 0 mldf cat --json dot.tar <<'END'
{"index":0,"key":"a","fields":{"cls":1}}
--- stderr
mldf cat: warning: dot.tar: b.: no part of a sample (a name is KEY.EXTENSION), skipped
END
printf 1 >"parts/c.$(printf 'x%.0s' {1..64})"
tar cf long.tar -C parts a.cls "c.$(printf 'x%.0s' {1..64})"
expect_error 1 'long.tar: field "' mldf pack long.tar -o x.mldf
check test ! -e x.mldf

# The bytes tell an archive of before ustar, whatever its name.
tar --format=v7 -cf old.data -C parts a.cls
gzip -c old.data >old.packed
for file in old.data old.packed; do
    mldf info --json $file | json 'd["format"] == "tar" and d["num_samples"] == 1'
    mldf pack $file -o old.mldf -q -f
    expect 0 mldf cat --json old.mldf <<'END'
{"index":0,"key":"a","fields":{"cls":1}}
END
done
INPUT=old.data expect_error 2 'is a tar archive: --format tar packs it' mldf pack - -o x.mldf

# A list of keys that an editor began with a byte order mark.
printf '\xef\xbb\xbfb\r\nc\r\n' >keys.txt
mldf select b.mldf --keys @keys.txt -o s.mldf -q
check test "$(mldf cat --json s.mldf | grep -o '"key":"."' | xargs)" = 'key:b key:c'
printf '\xef\xbb\xbf1\n' >numbers.txt
mldf select b.mldf --samples @numbers.txt -o s.mldf -f -q
check test "$(mldf cat --json s.mldf | grep -o '"key":"."' | xargs)" = 'key:b'

# What was encrypted stays so, unless the user says otherwise; options that a format has no place for are refused, not dropped.
if ! mldf --version | grep -q sodium; then
    skip "encryption: this build has no libsodium"
else
    printf 'a,t\n1,secret words\n2,more words\n' >a.csv
    head -c 32 /dev/zero >k1
    head -c 32 /dev/zero | tr '\0' 'x' >k2
    printf 'open sesame\n' >pass
    chmod 600 k1 k2 pass
    mldf pack a.csv -o plain.mldf -q
    mldf pack a.csv -o e.mldf -q --encrypt k1
    expect_error 0 '' mldf convert e.mldf --key k1 -o same.mldf -q
    mldf info --json same.mldf | json '"encrypted" in d["flags"]'
    check mldf cat --key k1 same.mldf >text
    expect 0 mldf diff --key k1 plain.mldf same.mldf <<'EOT'
EOT
    INPUT=e.mldf expect_error 0 '' mldf convert - --key k1 -o piped.mldf -q
    mldf info --json piped.mldf | json '"encrypted" in d["flags"]'
    expect_error 0 '' mldf convert plain.mldf e.mldf --key k1 --encrypt k2 -o other.mldf -q
    expect_error 3 'the key does not open' mldf cat --key k1 other.mldf
    check mldf cat --key k2 other.mldf >text
    expect_error 0 '' mldf convert e.mldf --key k1 --decrypt -o open.mldf -q
    expect 0 mldf diff plain.mldf open.mldf <<'EOT'
EOT
    expect_error 0 '' mldf convert plain.mldf --key k1 -o still.mldf -q # a key that nothing needed encrypts nothing
    mldf info --json still.mldf | json '"encrypted" not in d["flags"]'
    mldf pack a.csv -o p.mldf -q --passphrase-file pass
    expect_error 0 '' mldf convert p.mldf --passphrase-file pass -o p2.mldf -q
    check mldf cat --passphrase-file pass p2.mldf >text
    expect_error 2 'cannot be given together' mldf convert e.mldf --key k1 --encrypt k2 --decrypt -o x.mldf

    # Formats without encryption: refused when it is asked for, said when it is lost.
    for out in x.tar x.tar.gz x.beton; do
        expect_error 2 'has no encryption' mldf convert plain.mldf --encrypt k1 -o $out
        expect_error 0 'written in the clear' mldf convert e.mldf --key k1 -o $out
        rm $out
        expect_error 0 '' mldf convert e.mldf --key k1 --decrypt -o $out
        check test "$(grep -c 'clear' "$work/got.err")" = 0
        rm $out
    done
    expect_error 2 'tbl2 has no encryption' mldf convert "$source_dir/tests/golden/tbl/v1_4samples.tbl" --encrypt k1 -o x.tbl
fi
printf 'a\n1\n' >b.csv
printf '{"title":"t"}' >card.json
mldf pack b.csv -o b.mldf -q
expect_error 2 'tar has no compressed fields' mldf convert b.mldf -o x.tar --compress a
expect_error 2 'tar has no compressed fields' mldf convert b.mldf -o x.tar --dictionary
expect_error 2 'beton has no card' mldf convert b.mldf -o x.beton --card card.json
expect_error 2 'tar has no pages' mldf convert b.mldf -o x.tar --page-size 8K
expect_error 2 'tar has no checksums' mldf convert b.mldf -o x.tar --no-checksums
expect_error 0 '' mldf convert b.mldf -o x.beton --page-size 2M -q
check test ! -e x.tar

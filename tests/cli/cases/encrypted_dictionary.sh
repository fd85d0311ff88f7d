# The zstd dictionary is made of pieces of payloads: in an encrypted file it is encrypted, whichever command writes the file. A file of
# an older version that has it in the clear is read, told of, and mended by repack.
if ! mldf --version | grep -q sodium; then
    skip "encrypted dictionaries: this build has no libsodium"
else
    head -c 32 /dev/zero | tr '\0' k >key
    chmod 600 key
    python3 - <<'END'
rows = [f"{i},the patient Josephine Wintergreen has been seen {i} times in ward {i % 7}" for i in range(3000)]
open("rows.csv", "w").write("\n".join(["id,t", *rows]) + "\n")
open("few.csv", "w").write("\n".join(["id,t", *rows[:4]]) + "\n")
open("note.csv", "w").write("\n".join(["note", *(f"Josephine Wintergreen again {i}" for i in range(3000))]) + "\n")
END

    hidden() { # file
        check test "$(grep -ac Wintergreen "$1")" = 0
        mldf info --json "$1" | json 'd["dictionary"] == "encrypted" and [s["name"] for s in d["sections"]].count("encrypted_dictionary") == 1'
        mldf info --json "$1" | json '"dictionary" not in [s["name"] for s in d["sections"]]'
        check mldf verify -q "$1" >/dev/null # without the key
        check mldf verify -q --deep --key key "$1" >/dev/null
    }

    expect_error 0 '' mldf pack rows.csv -o a.mldf --compress t --dictionary --encrypt key
    hidden a.mldf
    expect_error 0 '' mldf pack rows.csv -o plain.mldf --compress t --dictionary
    check test "$(grep -ac Wintergreen plain.mldf)" != 0
    mldf info --json plain.mldf | json 'd["dictionary"] == "plain"'
    check mldf diff -q --key key a.mldf plain.mldf
    expect_error 0 '' mldf repack --key key a.mldf -o repacked.mldf
    hidden repacked.mldf
    expect_error 0 '' mldf repack --encrypt key plain.mldf -o later.mldf
    hidden later.mldf
    expect_error 0 '' mldf merge --key key a.mldf repacked.mldf -o merged.mldf
    hidden merged.mldf
    expect_error 0 '' mldf select --key key a.mldf --where 'id >= 500' -o selected.mldf
    hidden selected.mldf
    expect_error 0 '' mldf convert --dictionary --key key a.mldf -o converted.mldf
    hidden converted.mldf
    expect_error 0 '' mldf split --key key a.mldf --count 1500 -o 'part-{}.mldf'
    for part in part-*.mldf; do hidden "$part"; done
    expect_error 0 '' mldf append --key key repacked.mldf few.csv
    hidden repacked.mldf
    expect_error 0 '' mldf add-field --key key a.mldf note=note.csv --compress 3
    hidden a.mldf
    expect_error 0 '' mldf repair --key key a.mldf -o repaired.mldf
    hidden repaired.mldf

    # A file of an older version.
    cp "$source_dir/docs/spec/vectors/valid/encrypted_plain_dictionary.mldf" old.mldf
    printf 'an old file\n' >pass
    chmod 600 pass
    check grep -aq 'quick brown fox' old.mldf
    mldf info --json old.mldf | json 'd["dictionary"] == "plain" and "encrypted" in d["flags"]'
    mldf info old.mldf >shown
    check grep -qx 'dictionary not encrypted: it shows pieces of the payloads; `mldf repack` encrypts it' shown
    check mldf verify -q --deep --passphrase-file pass old.mldf >/dev/null
    printf 't,i\nmore,4\n' >more.csv
    cp old.mldf grown.mldf
    expect_error 0 'zstd dictionary is not: it shows pieces of the payloads' mldf append --passphrase-file pass grown.mldf more.csv
    mldf info --json grown.mldf | json 'd["dictionary"] == "plain"' # its old bytes are still there
    expect_error 0 '' mldf repack --passphrase-file pass grown.mldf -o mended.mldf
    check test "$(grep -ac 'quick brown fox' mended.mldf)" = 0
    mldf info --json mended.mldf | json 'd["dictionary"] != "plain" and "encrypted" in d["flags"]'
fi

# Keys and passphrases: right, wrong, missing, malformed.
if ! mldf --version | grep -q sodium; then
    skip "encryption: this build has no libsodium"
else
    printf 'a,t\n1,secret words\n2,more words\n' >a.csv
    python3 -c 'open("k1","wb").write(bytes(range(32))); open("k2","wb").write(bytes(32)); open("hex","w").write(bytes(range(32)).hex()+"\n")'
    printf 'open sesame\nsecond line\n' >pass
    printf 'short' >short
    # A secret that others can read is told of.
    for mode in 640 604 644; do
        chmod $mode k1 pass
        expect_error 0 'warning: k1: others than its owner can read this secret' mldf pack a.csv -f -o w.mldf --encrypt k1
        expect_error 0 'warning: k1: others than its owner can read this secret' mldf cat --key k1 w.mldf
        expect_error 0 'warning: pass: others than its owner can read this secret' mldf pack a.csv -f -o w.mldf --passphrase-file pass
        mldf info --json -q --passphrase-file pass w.mldf | json 'd["warnings"][0]["source"] == "pass"'
    done
    chmod 600 k1 k2 hex pass short
    expect_error 0 '' mldf cat --passphrase-file pass w.mldf
    check test ! -s "$work/got.err"
    INPUT=pass expect_error 0 '' mldf cat --passphrase-file - w.mldf
    check test ! -s "$work/got.err"
    rm w.mldf
    expect_error 0 '' mldf pack a.csv -o e.mldf --encrypt k1
    check test "$(grep -c 'secret words' e.mldf)" = 0
    for key in k1 hex; do
        expect 0 mldf cat --json --key $key -n 1 e.mldf <<'END'
{"index":0,"key":null,"fields":{"a":1,"t":"secret words"}}
END
    done
    expect 3 mldf cat e.mldf <<'END'
--- stderr
mldf cat: e.mldf: the file is encrypted and no key was given
END
    expect 3 mldf cat --key k2 e.mldf <<'END'
--- stderr
mldf cat: e.mldf: the key does not open this file
END
    expect_error 2 'is not a key' mldf cat --key short e.mldf
    expect_error 3 'No such file' mldf cat --key nosuch e.mldf
    mldf info --json e.mldf | json 'd["authenticated"] is False and "encrypted" in d["flags"]'
    mldf info --json --key k1 e.mldf | json 'd["authenticated"] is True'
    mldf verify --json e.mldf | json 'd["ok"] is True and d["encrypted"] and not d["authenticated"]'
    expect 0 mldf verify e.mldf <<'END'
e.mldf: ok: 2 samples, not authenticated
--- stderr
mldf verify: e.mldf: is encrypted and no key was given: checksums were checked, nothing is authenticated
END
    # What --deep asks for and cannot be done is said.
    expect_error 0 'warning: e.mldf: is encrypted and no key was given: --deep has decoded no payload' mldf verify --deep e.mldf
    mldf verify --deep --json -q e.mldf | json 'd["ok"] is True and "no payload" in d["warnings"][0]["message"]'
    mldf verify --deep --json -q --key k1 e.mldf | json 'd["ok"] is True and d["warnings"] == []'
    expect 0 mldf verify --deep --key k1 e.mldf <<'END'
e.mldf: ok: 2 samples
END
    # A passphrase; repack keeps the encryption unless told otherwise.
    expect_error 0 '' mldf pack a.csv -o p.mldf --passphrase-file pass
    expect_error 0 '' mldf cat --passphrase-file pass p.mldf
    expect_error 3 'passphrase' mldf cat --passphrase-file short p.mldf
    expect_error 0 '' mldf repack e.mldf --key k1 -o r.mldf
    mldf info --json r.mldf | json '"encrypted" in d["flags"]'
    expect_error 0 '' mldf repack e.mldf --key k1 --decrypt -o plain.mldf
    expect_error 0 '' mldf pack a.csv -o a.mldf
    expect 0 mldf diff a.mldf plain.mldf <<'END'
END
    expect 0 mldf diff --key k1 a.mldf r.mldf <<'END'
END
    expect_error 0 '' mldf append e.mldf a.csv --key k1
    expect_error 3 'no key was given' mldf append e.mldf a.csv
    mldf cat --json --key k1 e.mldf >lines
    check test "$(wc -l <lines)" = 4
fi

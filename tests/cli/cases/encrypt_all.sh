# --encrypt-all: nothing but sizes can be seen without the key; with it, the file is as any other.
printf 'id,label,secretname\nsamplekey1,41414141,hidden words one\nsamplekey2,42424242,hidden words two\n' >a.csv
printf '{"title":"cardtitle"}' >card.json
mldf keygen k.key -q
mldf keygen other.key -q
check mldf pack a.csv -o all.mldf --key-column id --card card.json --encrypt k.key --encrypt-all -q
check mldf pack a.csv -o plain.mldf --key-column id --card card.json -q
for word in samplekey1 cardtitle secretname hidden label MLDFDIR; do
    check test "$(grep -c -a "$word" all.mldf)" -eq 0
done
# the number 41414141 of a row as it is stored
check python3 -c 'import sys; sys.exit((41414141).to_bytes(8, "little") in open("all.mldf", "rb").read())'
check python3 -c 'import sys; sys.exit((41414141).to_bytes(8, "little") not in open("plain.mldf", "rb").read())'
for command in info verify cat head stats; do
    expect_error 3 'all.mldf: the file is encrypted with all its tables, and no key was given' mldf $command all.mldf
    expect_error 3 'the key does not open this file' mldf $command all.mldf --key other.key
    check mldf $command all.mldf --key k.key >/dev/null
done
mldf info --json all.mldf --key k.key | json 'd["flags"][-2:] == ["encrypted", "encrypted_tables"] and d["card"] == {"title": "cardtitle"} and d["num_samples"] == 2 and d["authenticated"]'
mldf info --json all.mldf --key k.key | json "d['file_bytes'] == $(stat -c %s all.mldf)"
mldf cat --json plain.mldf >want
mldf cat --json all.mldf --key k.key >got
check cmp want got
mldf verify --deep --json all.mldf --key k.key | json 'd["ok"] and d["authenticated"] and d["encrypted"]'
check mldf diff plain.mldf all.mldf --key k.key
# What is made of it stays so; --decrypt and another key change it.
for command in 'merge all.mldf' 'repack all.mldf' 'convert all.mldf' 'select all.mldf --fields label'; do
    # shellcheck disable=SC2086
    check mldf $command -o made.mldf -f -q --key k.key
    expect_error 3 'encrypted with all its tables' mldf info made.mldf
    # shellcheck disable=SC2086
    check mldf $command -o made.mldf -f -q --key k.key --decrypt
    check mldf info made.mldf >/dev/null
done
check mldf split all.mldf -o 'part-{}.mldf' --count 1 -q --key k.key
expect_error 3 'encrypted with all its tables' mldf info part-0.mldf
# Another key leaves its tables encrypted.
for command in 'merge all.mldf' 'repack all.mldf' 'convert all.mldf' 'select all.mldf --fields label'; do
    # shellcheck disable=SC2086
    check mldf $command -o made.mldf -f -q --key k.key --encrypt other.key
    expect_error 3 'encrypted with all its tables' mldf info made.mldf
    expect_error 3 'the key does not open this file' mldf info made.mldf --key k.key
    mldf info --json made.mldf --key other.key | json '"encrypted_tables" in d["flags"]'
done
check mldf split all.mldf -o 'other-{}.mldf' --count 1 -q --key k.key --encrypt other.key
mldf info --json other-0.mldf --key other.key | json '"encrypted_tables" in d["flags"]'
# A file that is not encrypted gets what is asked for, no more.
check mldf repack plain.mldf -o made.mldf -f -q --encrypt other.key
mldf info --json made.mldf | json '"encrypted" in d["flags"] and "encrypted_tables" not in d["flags"]'
# It is changed by writing a new one.
expect_error 1 'cannot be changed in place; write a new one with mldf merge or mldf repack' mldf append all.mldf a.csv --key k.key --key-column id
check mldf repair all.mldf --key k.key >/dev/null
# So is what repair saves: nothing of its tables is in the clear.
check mldf repair all.mldf -o saved.mldf --key k.key >/dev/null
expect_error 3 'encrypted with all its tables' mldf info saved.mldf
check test "$(grep -c -a secretname saved.mldf)" -eq 0
check mldf diff plain.mldf saved.mldf --key k.key
expect_error 2 'encrypt_all needs a key or a passphrase' mldf pack a.csv -o x.mldf --encrypt-all
expect_error 2 'encrypt_all and resume exclude each other' mldf pack a.csv -o x.mldf --encrypt k.key --encrypt-all --resume
expect_error 2 'encrypt_all needs a file' mldf pack a.csv -o - --encrypt k.key --encrypt-all
# Any edit is found.
python3 - <<'END'
data = bytearray(open("all.mldf", "rb").read())
at = len(data) - 232
tail = int.from_bytes(data[at + 8:at + 16], "little")
data[tail + 40] ^= 1
open("edited.mldf", "wb").write(data)
open("cut.mldf", "wb").write(bytes(open("all.mldf", "rb").read()[:-100]))
END
expect_error 1 'the encrypted tables do not authenticate' mldf info edited.mldf --key k.key
expect_error 1 'it was cut' mldf info cut.mldf --key k.key
# What is read in parts is encrypted in chunks, and appending knows the size of their value.
mkdir one two
python3 - <<'END'
import wave
for path, count in (("one/a.wav", 200000), ("two/b.wav", 1000)):
    with wave.open(path, "wb") as out:
        out.setparams((1, 2, 8000, 0, "NONE", "none"))
        out.writeframes(bytes(2 * count))
END
check mldf pack one -o sound.mldf --encrypt k.key -q
check mldf append sound.mldf two --key k.key -q
mldf info --json sound.mldf | json '[f["statistics"]["value_bytes_max"] for f in d["fields"]] == [400000]'

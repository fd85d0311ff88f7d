# Which samples head and cat show.
seq 0 19 | sed '1i n' >a.csv
mldf pack a.csv -o a.mldf -q
shown() { # expected numbers, then the arguments
    local want=$1
    shift
    got=$(mldf "$@" --json a.mldf | python3 -c 'import json,sys; print(*[json.loads(l)["index"] for l in sys.stdin])')
    [ "$got" = "$want" ] || complain "mldf $*: '$got', expected '$want'"
}
shown '0 1 2 3 4 5 6 7 8 9' head
shown '0 1 2' head -n 3
shown '0 1 2' head -n3
shown "$(seq -s ' ' 0 19)" cat
shown '17 18 19' cat --range -3:
shown '2 3' cat --range 2:4
shown '0 1' cat --range=:2
shown '' cat --range 5:5
shown '' cat --range 9:3
shown '18 19' head --range 18:99
shown '3 9 3' cat --samples 3,9,3
shown '19' cat --samples -1
shown '5 6' cat --range 5:15 -n 2
shown '' cat -n 0
expect 1 mldf cat --samples 20 a.mldf <<'END'
--- stderr
mldf cat: a.mldf: there is no sample 20: the file has 20
END
expect_error 2 '--range' mldf cat --range 5 a.mldf
expect_error 2 'only one of' mldf cat --range 5:6 --samples 1 a.mldf
expect_error 2 'did you mean' mldf cat --fields nn a.mldf
expect_error 2 'twice' mldf cat --fields n,n --json a.mldf
expect_error 1 'no sample keys' mldf cat --keys x a.mldf
expect_error 2 'a list of sample numbers' mldf cat --samples 1,,2 a.mldf
mldf cat --raw n --range 0:2 a.mldf | od -An -tx8 >raw.txt
check grep -q '0000000000000000 0000000000000001' raw.txt
# Damage is found on the way.
python3 -c 'd=bytearray(open("a.mldf","rb").read()); i=d.index(bytes([7,0,0,0,0,0,0,0,8])); d[i]^=1; open("bad.mldf","wb").write(d)'
expect_error 1 'bad.mldf' mldf cat bad.mldf
expect_error 1 '' mldf verify bad.mldf
mldf verify --json bad.mldf | json 'd["ok"] is False and d["num_samples"] == 20 and d["problems"][0]["status"] == "checksum" and
    set(d["problems"][0]) == {"status", "offset", "sample", "field", "message"}'
expect_error 3 'cannot be opened' mldf verify --json nosuch
# A value that its type cannot show is an error of its sample, and no line is begun.
damaged="$source_dir/docs/spec/vectors/invalid/A7_parts_entry_flags.mldf"
expect 1 mldf cat --json "$damaged" <<END
--- stderr
mldf cat: $damaged: sample 0, field x: part 0: unknown flags 0x2
END

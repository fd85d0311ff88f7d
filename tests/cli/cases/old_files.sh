# 1.0 files and every valid vector: info and cat print JSON; repacked they are 1.1, whole, and the same content.
for file in "$source_dir"/tests/golden/draft/*.mldf "$source_dir"/docs/spec/vectors/valid/*.mldf; do
    [ -e "$file" ] || continue
    case $file in *encrypted_all*)
        expect_error 3 'encrypted with all its tables' mldf info "$file"
        continue
        ;;
    esac
    mldf info -q --json "$file" | json 'd["format"] == "mldf" and d["data_bytes"] is not None and d["padding_bytes"] is not None'
    case $file in *encrypted*) continue ;; esac
    mldf cat -q --json "$file" | python3 -c 'import json, sys
for line in sys.stdin: json.loads(line)' || complain "cat --json $file"
    expect_error 0 '' mldf repack -q "$file" -o new.mldf -f
    mldf info -q --json new.mldf | json 'd["version"] == "1.1"'
    expect_error 0 '' mldf verify --deep -q new.mldf
    expect_error 0 '' mldf diff -q "$file" new.mldf
done

# Records that hold a count where the size is: the payload is whole, and short integers are numbers. Without the table's entry there is no size.
for stride in 204 208; do
    cp "$source_dir/tests/golden/draft/counts_$stride.mldf" counts.mldf
    check test "$(mldf cat --json counts.mldf | python3 -c 'import json, sys
print([(r["sound"]["bytes"], r["label"], r["flag"], r["mel"]["bytes"]) for r in (json.loads(l)["fields"] for l in sys.stdin)])')" = \
        "[(0, -2, 0, 32), (20, -1, -1, 64), (40, 0, -2, 96), (60, 1, -3, 128)]"
    expect_error 0 '' mldf verify --deep -q counts.mldf
    mldf convert counts.mldf -o counts.tar -q -f --fields label,flag && mldf cat --json counts.tar | python3 -c 'import json, sys
assert [list(json.loads(l)["fields"].values()) for l in sys.stdin] == [[-2, 0], [-1, -1], [0, -2], [1, -3]]' || check false
    mldf bench counts.mldf --json -q --batch-size 4 --epochs 1 -p 'label' >/dev/null || check false
    truncate -s -16 counts.mldf # the last allocation
    expect_error 1 'sample 3, field mel: the allocation table has no entry for ptr 4408' mldf cat --json counts.mldf
    expect_error 1 'the allocation table has no entry for ptr 4408' mldf convert counts.mldf -o never.mldf
done
check test ! -e never.mldf

# 1.0 files and every valid vector: info and cat print JSON; repacked they are 1.1, whole, and the same content.
for file in "$source_dir"/tests/golden/draft/*.mldf "$source_dir"/docs/spec/vectors/valid/*.mldf; do
    [ -e "$file" ] || continue
    mldf info -q --json "$file" | json 'd["format"] == "mldf" and d["data_bytes"] is not None and d["padding_bytes"] is not None'
    case $file in *encrypted*) continue ;; esac
    mldf cat -q --json "$file" | python3 -c 'import json, sys
for line in sys.stdin: json.loads(line)' || complain "cat --json $file"
    expect_error 0 '' mldf repack -q "$file" -o new.mldf -f
    mldf info -q --json new.mldf | json 'd["version"] == "1.1"'
    expect_error 0 '' mldf verify --deep -q new.mldf
    expect_error 0 '' mldf diff -q "$file" new.mldf
done

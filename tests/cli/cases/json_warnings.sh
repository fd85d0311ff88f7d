# Whatever a command warns of on stderr stands in its JSON document too.
printf '%s\n' 'k,a,t' 'x,1,one' 'y,2,two' 'z,3,three' >rows.csv
mldf pack rows.csv --key-column k -o good.mldf -q || complain 'pack fails'
cp good.mldf junk.mldf
printf 'left by an append that was interrupted' >>junk.mldf
warned() { # command...: the document has a warning, and stderr says the same
    mldf "$@" --json >got.json 2>messages
    json 'len(d["warnings"]) >= 1 and all(set(w) == {"source", "message"} and w["message"] for w in d["warnings"])' <got.json
    python3 - "$*" <<'PY' || complain "$*: stderr and warnings differ"
import json, sys
said = [line.split("warning: ", 1)[1] for line in open("messages").read().splitlines() if "warning: " in line]
listed = [w["source"] + (": " if w["source"] else "") + w["message"] for w in json.load(open("got.json"))["warnings"]]
sys.exit(0 if said == listed else f"{sys.argv[1]}\n  {said}\n  {listed}")
PY
}
warned info junk.mldf
warned verify junk.mldf
warned diff good.mldf junk.mldf
warned stats junk.mldf
warned bench junk.mldf -p 't: pad'
warned convert junk.mldf -o c.tar
warned convert good.mldf -o c.beton --drop-fields
warned merge junk.mldf -o m.mldf
warned select junk.mldf -o s.mldf --samples 0
warned split junk.mldf -o p{}.mldf --count 2
warned extract junk.mldf -o folder
warned repack junk.mldf -o r.mldf
warned repair junk.mldf -o rr.mldf
cp junk.mldf junk2.mldf
printf 'n\n7\n8\n9\n' >n.csv
warned add-field junk2.mldf n=n.csv
cp junk.mldf junk3.mldf
printf 'k,a,t\nw,4,four\n' >more.csv
warned append junk3.mldf more.csv --key-column k
mkdir images
cp "$source_dir/tests/data/images/rgb.jpg" images/a.png
warned pack images -o images.mldf

# -q says nothing, and the document still has them; without a warning the list is there and empty.
mldf convert good.mldf -o d.beton --drop-fields --json -q >got.json 2>messages
check test ! -s messages
json 'len(d["warnings"]) >= 1' <got.json
for command in 'info good.mldf' 'verify good.mldf' 'stats good.mldf' 'diff good.mldf good.mldf' 'repack good.mldf' 'select good.mldf -o t.mldf --samples 1'; do
    # shellcheck disable=SC2086
    mldf $command --json >got.json || complain "$command fails"
    json 'd["warnings"] == []' <got.json
done

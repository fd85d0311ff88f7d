# mldf bench: the same batches for every number of threads, back end and format; what --json has; mistakes; Ctrl-C.
mkdir photos
for i in $(seq 10 49); do
    cp "$source_dir/tests/data/images/rgb.jpg" "photos/$i.jpg"
done
mldf pack photos -o p.mldf -q || complain 'pack fails'
crops='image: random_resized_crop(16) | hflip | normalize(imagenet) | chw(f32)'
hashes() { mldf bench "$@" --json --hash -q | python3 -c 'import json,sys; print("\n".join(json.load(sys.stdin)["batch_hashes"]))'; }

hashes p.mldf -p "$crops" --order quasi-random --block 4 --batch-size 7 --seed 3 --threads 0 --epochs 2 >want
check test "$(wc -l <want)" -eq 12
check test "$(sort -u want | wc -l)" -eq 12
for more in '--threads 1' '--threads 2 --backend read' '-j 7 --in-flight 2' '--threads 2 --no-prefetch' '--isa portable --threads 1' \
    '--reference --threads 2' '--threads 2 --forget-behind'; do
    # shellcheck disable=SC2086
    hashes p.mldf -p "$crops" --order quasi-random --block 4 --batch-size 7 --seed 3 --epochs 2 $more >got
    cmp -s want got || complain "the batches with $more differ"
done
for format in beton tbl1 tbl2; do
    mldf convert p.mldf -o "p.$format" --to "$format" --drop-fields -q 2>/dev/null || complain "convert to $format fails"
    drop=$([ $format = beton ] || echo 'format: drop')
    printf '%s\n%s\n' "$crops" "$drop" >pipeline
    hashes "p.$format" -p @pipeline --order quasi-random --block 4 --batch-size 7 --seed 3 --epochs 2 --threads 2 >got
    cmp -s want got || complain "the batches of $format differ"
done
hashes p.mldf -p "$crops" --order random --batch-size 7 --seed 4 --epochs 2 >got
cmp -s want got && complain 'another order and seed give the same batches'

# Seeds have 64 bits.
hashes p.mldf -p "$crops" --order random --batch-size 7 --seed 18446744073709551615 >got
hashes p.mldf -p "$crops" --order random --batch-size 7 --seed 18446744073709551614 >want
cmp -s want got && complain 'two of the largest seeds give the same batches'
for seed in -1 18446744073709551616 1.5 7x; do
    expect_error 2 "--seed: '$seed' is not a whole number from 0 to 18446744073709551615" mldf bench p.mldf "--seed=$seed"
done

mldf bench p.mldf -p "$crops" --json --explain >out.json || complain 'bench --json fails'
python3 - <<'END' || complain 'bench --json lacks something'
import json
j = json.load(open("out.json"))
assert j["samples"] == 40 and j["batches"] == 1 and j["bad_samples"] == 0
for key in "samples_per_second seconds bytes_read peak_rss_bytes".split(): assert j[key] > 0, key
assert j["steps"][0]["name"] == "read" and all(s["seconds"] >= 0 for s in j["steps"])
assert ":" in j["verdict"] and "batch_hashes" not in j and "random_resized_crop" in j["explain"]
END
mldf bench p.mldf -p "$crops" --hash --batch-size 40 >out.txt || complain 'bench fails'
check grep -q '^batch 0: [0-9a-f]\{32\}$' out.txt
check grep -q '^40 samples in 1 batch, ' out.txt
check grep -q 'image: decode' out.txt

cp "$source_dir/tests/data/images/truncated.jpg" photos/30.jpg
rm p.mldf
mldf pack photos -o p.mldf -q 2>/dev/null || complain 'pack of a truncated image fails'
expect_error 1 'sample 20, field image: ' mldf bench p.mldf -p "$crops" -q
check test "$(mldf bench p.mldf -p "$crops" --on-error=skip --json | python3 -c 'import json,sys; j=json.load(sys.stdin); print(j["samples"], j["bad_samples"])')" = '39 1'
whole='image: resize([8, 8])' # a crop need not touch the damage
mldf bench p.mldf -p "$whole" --on-error=skip --epochs 2 --json >bad.json || complain 'bench of bad samples fails'
json 'len(d["bad"]) == d["bad_samples"] == 2 and [b["epoch"] for b in d["bad"]] == [0, 1] and d["warnings"] == []' <bad.json
json 'all((b["source"], b["sample"], b["field"], b["position"]) == ("p.mldf", 20, "image", 20) for b in d["bad"])' <bad.json
json 'd["bad"][0]["message"].startswith("p.mldf: sample 20, field image: ")' <bad.json
mldf bench p.mldf -p "$whole" --on-error=skip >bad.txt || complain 'bench of a bad sample fails'
check grep -qx '1 bad sample' bad.txt
check grep -q '^  p.mldf: sample 20, field image: ' bad.txt
mldf bench p.mldf -p "$whole" --on-error=skip --epochs 1100 --batch-size 40 >bad.txt || complain 'bench of many bad samples fails'
check test "$(grep -c '^  p.mldf: sample 20' bad.txt)" -eq 10
check grep -qx '  ... and 1090 more; --json lists them' bad.txt
check test "$(mldf bench p.mldf -p "$whole" --on-error=skip --epochs 1100 --batch-size 40 --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["bad"]))')" = 1100
check test "$(mldf bench p.mldf -p "$crops" --on-error=substitute --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["samples"])')" = 40

expect_error 2 'no operation crop_it' mldf bench p.mldf -p 'image: crop_it'
expect_error 2 'column 17' mldf bench p.mldf -p 'image: resize(10'
expect_error 2 'no field or output photo' mldf bench p.mldf -p 'photo: decode'
expect_error 2 "expected ':' and steps, found '|'; a statement is FIELD: STEP | STEP, as in image: " mldf bench p.mldf -p 'image | hflip'
expect_error 2 'sequential, random and quasi-random' mldf bench p.mldf --order backwards
expect_error 2 'none of portable' mldf bench p.mldf --isa mmx
printf '%s\n' '{"a":1,"s":"hello"}' '{"a":null,"s":"x"}' >rows.jsonl
mldf pack rows.jsonl -o rows.mldf -q || complain 'pack of rows fails'
expect_error 1 'sample 1, field a: the value is null' mldf bench rows.mldf
check mldf bench rows.mldf -p 'a: fill(0, valid=true)' -q >out.txt
expect_error 1 "sample 0, field s: a result of 5 is longer than pad's 3; truncate it first" mldf bench rows.mldf -p 'a: drop; t = s: pad(3)'
printf 'label: drop\0 image: nonsense(' >nul.pipeline
expect_error 2 'line 1, column 12' mldf bench p.mldf -p @nul.pipeline
printf '\357\273\277a: cast(f32)\r\ns: pad\r\n' >mark.pipeline
check test "$(mldf bench rows.mldf -p @mark.pipeline --on-error=skip --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["samples"])')" = 1
expect_error 2 'at most 65536' mldf bench p.mldf -p "$(printf '%70000s' '')"
expect_error 2 'none of map, read' mldf bench p.mldf --backend tape
expect_error 2 'whole number' mldf bench p.mldf --batch-size many
expect_error 3 'cannot be opened' mldf bench nothing.mldf
expect_error 2 'standard input' mldf bench -

# The verdict is on the step that took longest, whichever that was here; what is said of which step is tested in C.
for pipeline in 'image: random_resized_crop(300, filter=bicubic)' 'image: resize([300, 300], filter=bicubic) | random_crop(290) | normalize(imagenet)'; do
    mldf bench p.mldf -p "$pipeline" --on-error=skip --threads 0 --json -q >verdict.json || complain 'bench for a verdict fails'
    python3 - <<'END' || complain "the verdict on $pipeline"
import json
d = json.load(open("verdict.json"))
most = max(s["seconds"] for s in d["steps"])
allowed = ["consumer-bound: "] if d["wait_loader_seconds"] < 0.101 * d["seconds"] else []
for name in [s["name"] for s in d["steps"] if s["seconds"] >= 0.999 * most]:
    allowed.append("read-bound: " if name == "read" else "decode-bound: " if name.endswith(": decode") else "bound by %s: use threads or do " % name)
if sum(step["seconds"] for step in d["steps"]) < 0.5:  # too little to judge by, and that is said
    assert d["verdict"].startswith("no verdict: "), d
else:
    assert d["verdict"].startswith(tuple(allowed)), d
END
done

# What is on its way is said in samples and batches, and a signal ends it. (A shell's background jobs ignore SIGINT; a fresh process does not.)
for signal in TERM INT; do
    python3 - "$MLDF" "$crops" $signal >result <<'END'
import signal, sys
import signals
command = [sys.argv[1], "bench", "p.mldf", "-p", sys.argv[2], "--on-error=skip", "--epochs", "100000000"]
with open("messages", "wb") as messages:
    print(signals.interrupt(command, lambda: signals.size("messages") > 0, getattr(signal, "SIG" + sys.argv[3]), stderr=messages))
END
    check grep -qx 130 result
    check grep -q '^mldf bench: [0-9,]* samples, [0-9,.]* samples/s, [0-9]* batch\(es\)\?, [0-9]*%' messages
    check grep -qx 'mldf bench: interrupted' messages
    grep -q ' 0 B' messages && complain 'progress in bytes that nobody counts'
done

# Without a pipeline every field is decoded; fields that a pipeline leaves out are reported.
expect_error 0 'no pipeline was given: fields are decoded by image: decode' mldf bench p.mldf --on-error=skip
check test "$(mldf bench p.mldf --on-error=skip --json -q | python3 -c 'import json,sys; d=json.load(sys.stdin); print(d["bytes_read"] > 0, any("image: decode" in s["name"] for s in d["steps"]), d["warnings"])')" = 'True True []'
expect_error 0 'warning: left out of the batches, as no statement of the pipeline names this field: s' mldf bench rows.mldf -p 'a: fill(0)'
mldf bench rows.mldf -p 'a: fill(0)' --json -q | json 'len(d["warnings"]) == 1'
mldf bench rows.mldf -p 'a: fill(0); s: drop' --json -q | json 'd["warnings"] == []'
printf '%s\n' '{"odd name `x":"ab","n":[1]}' '{"odd name `x":"abc","n":[1,2]}' >odd.jsonl && mldf pack odd.jsonl -o odd.mldf -q
mldf bench odd.mldf --json -q | json 'd["warnings"] == [] and d["samples"] == 2'

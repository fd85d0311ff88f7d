# Recordings as files: folders of WAV files (flat, classes, odd ones, mixed with images), archives, appending, and out again.
audio=$source_dir/tests/data/audio
images=$source_dir/tests/data/images

# Class folders. Notes beside the files are left out, as beside images; a text of the same name would be a transcript.
mkdir -p speech/{no,yes}
cp "$audio/sox_s16.wav" speech/no/1.wav && cp "$audio/ffmpeg_s24.wav" speech/no/2.WAV
cp "$audio/python_s16.wav" speech/yes/1.wav && cp "$audio/sndfile_w64.w64" speech/yes/long.w64
printf 'yes\n' >speech/yes/notes.txt
expect_error 0 'left out speech/yes/notes.txt: not a sample by its name' mldf pack speech -o speech.mldf -v
mldf info --json speech.mldf | json '[(f["name"], f["type"]) for f in d["fields"]] == [("audio", "audio_waveform"), ("label", "int")]
    and d["card"] == {"classes": ["no", "yes"]} and d["num_samples"] == 4'
check test "$(mldf cat --json speech.mldf | python3 -c 'import json,sys
for l in sys.stdin: d = json.loads(l); print(d["key"], d["fields"]["label"], d["fields"]["audio"]["samples"], end=" ")')" = \
    "no/1.wav 0 37 no/2.WAV 0 37 yes/1.wav 1 37 yes/long.w64 1 37 "
for threads in 0 2; do
    mldf pack speech -o t$threads.mldf -q -j $threads
    check cmp -s speech.mldf t$threads.mldf
done
expect 0 mldf verify --deep speech.mldf <<'END'
speech.mldf: ok: 4 samples
END
mldf stats --json speech.mldf | json 'd["fields"]["audio"]["count"] == 4 and d["fields"]["audio"]["bytes"]["max"] > 0'
mldf pack speech -o flat.mldf -q --layout flat
mldf info --json flat.mldf | json '[f["name"] for f in d["fields"]] == ["audio"]'

# Out again: RIFF files under their names; byte for byte where the source was canonical.
mldf extract speech.mldf -o out -q
check test "$(cd out && find . -type f | LC_ALL=C sort | tr '\n' ' ')" = "./manifest.jsonl ./no/1.wav ./no/2.WAV ./yes/1.wav ./yes/long.w64.wav "
check cmp -s speech/no/1.wav out/no/1.wav
check cmp -s speech/yes/1.wav out/yes/1.wav
check test "$(head -c 4 out/yes/long.w64.wav)" = RIFF
rm -r out/manifest.jsonl && mv out/yes/long.w64.wav out/yes/long.w64
mldf pack out -o again.mldf -q
expect 0 mldf diff speech.mldf again.mldf <<'END'
END
# A key that is no file's name gets the ending; the manifest names the files, and packs them again.
printf 'key,a\nx,speech/no/1.wav\n' >keyed.csv
mldf pack keyed.csv -o keyed.mldf -q --key-column key --files a
mldf info --json keyed.mldf | json 'd["fields"][0]["type"] == "audio_waveform"'
mldf extract keyed.mldf -o keyed -q
check cmp -s keyed/x.wav speech/no/1.wav
expect 0 cat keyed/manifest.jsonl <<'END'
{"key":"x","a":"x.wav"}
END
mldf pack keyed/manifest.jsonl -o keyed2.mldf -q --key-column key --files a
expect 0 mldf diff keyed.mldf keyed2.mldf <<'END'
END
# With an image in the same sample each file has its own ending.
printf '{"i":"%s","a":{"path":"%s"}}\n' "$images/rgb.png" "$PWD/speech/no/1.wav" >both.jsonl
mldf pack both.jsonl -o both.mldf -q --files i --files a --allow-outside
mldf extract both.mldf -o both -q
check cmp -s both/0.png "$images/rgb.png"
check cmp -s both/0.wav speech/no/1.wav
# All coders, 8 to 64 bits, and every container: the samples are the same after a round trip.
mkdir all && cp "$audio"/*.wav "$audio"/*.w64 all/
mldf pack all -o all.mldf 2>warnings
check grep -q 'all/ffmpeg_surround.wav: the channel mask' warnings
mldf extract all.mldf -o all.out -q
rm all.out/manifest.jsonl
for f in all.out/*.w64.wav; do mv "$f" "${f%.wav}"; done
mldf pack all.out -o all2.mldf -q
expect 0 mldf diff all.mldf all2.mldf <<'END'
END
if command -v sox >/dev/null; then # another program reads the same numbers from both
    for f in sox_s16.wav ffmpeg_s24.wav ffmpeg_f32.wav ffmpeg_surround.wav ffmpeg_alaw.wav sndfile_rifx_s16.wav; do
        sox all/$f -t raw -e signed -b 32 want.raw 2>/dev/null
        sox all.out/$f -t raw -e signed -b 32 got.raw
        check cmp -s want.raw got.raw
    done
fi

# Odd files: named, with their byte; skipped on request.
mkdir odd && cp "$audio/sox_s16.wav" odd/a.wav
head -c 60 "$audio/sox_s16.wav" >odd/cut.wav
head -c 30 "$audio/sox_s16.wav" >odd/header.wav
: >odd/empty.wav
printf 'ID3 this is an MP3 file' >odd/really.mp3
cp "$audio/sox_s16.wav" odd/wrong.mp3
expect 1 mldf pack odd -o x.mldf -q <<'END'
--- stderr
mldf pack: odd/cut.wav: byte 60: the WAV file is cut short: its header announces 58 bytes of samples more than it has
END
check test ! -e x.mldf
mldf pack odd -o odd.mldf --on-error=skip --json >odd.json 2>/dev/null
json 'd["written"] == 2 and {s["source"] for s in d["skipped"]} == {"odd/cut.wav", "odd/header.wav", "odd/empty.wav", "odd/really.mp3"}' <odd.json
json 'all("byte " in s["message"] or "empty" in s["message"] for s in d["skipped"])' <odd.json
json '[w["message"] for w in d["warnings"]] == ["the name ends in .mp3, and the bytes are WAV"]' <odd.json

# Images and recordings in one folder: never silently one of them.
mkdir mixed && cp "$audio/sox_s16.wav" mixed/a.wav && cp "$audio/sox_s16.wav" mixed/b.wav && cp "$images/one.png" mixed/i.png
expect 1 mldf pack mixed -o x.mldf <<'END'
--- stderr
mldf pack: mixed: the folder holds images (1, such as i.png) and recordings (2, such as a.wav): pack each kind from a folder of its own, or name the files in a table
END
mldf pack mixed -o mixed.mldf --on-error=skip --json 2>/dev/null | json 'd["written"] == 2 and [s["source"] for s in d["skipped"]] == ["mixed/i.png"]'
expect_error 2 'there is no image field that the image options could be for' mldf pack speech -o x.mldf --quality 50

# Appending: the file's fields decide.
mkdir more && cp "$audio/ffmpeg_s16.wav" more/3.wav
mldf append flat.mldf more -q
mldf info --json flat.mldf | json 'd["num_samples"] == 5'
mkdir -p again/no && cp "$audio/ffmpeg_s16.wav" again/no/9.wav
mldf append speech.mldf again -q
mldf cat --json --keys no/9.wav speech.mldf | json 'd["fields"]["label"] == 0 and d["fields"]["audio"]["rate"] == 44100'
expect_error 1 'mixed/i.png: byte 0: not a WAV file' mldf append flat.mldf mixed
mkdir pictures && cp "$images/one.png" pictures/
expect_error 1 'not a WAV file' mldf append flat.mldf pictures
mldf pack pictures -o pictures.mldf -q
expect_error 1 'not an image' mldf append pictures.mldf more
# A file with both kinds of fields takes what the names say.
printf '{"i":"%s","a":null}\n{"i":null,"a":"%s"}\n' "$images/rgb.png" "$PWD/speech/no/1.wav" >pair.jsonl
mldf pack pair.jsonl -o pair.mldf -q --files i --files a --allow-outside
mldf append pair.mldf more -q
mldf append pair.mldf pictures -q
mldf cat --json pair.mldf >pair.txt
check test "$(python3 -c 'import json
print(*["".join(k for k, v in json.loads(l)["fields"].items() if v) for l in open("pair.txt")])')" = "i a a i"
expect_error 1 'the folder holds images' mldf append pair.mldf mixed

# Archives: a member .wav is a recording, packed or read in place.
mkdir members && cp "$audio/sox_s16.wav" members/1.wav && printf 'one' >members/1.txt
cp "$audio/sndfile_rifx_s16.wav" members/2.wav && printf 'two' >members/2.txt
cp "$audio/scipy_f32.wav" members/3.wav && printf 'three' >members/3.txt
tar -cf a.tar -C members --sort=name 1.txt 1.wav 2.txt 2.wav 3.txt 3.wav && gzip -k a.tar
mldf pack a.tar -o tar.mldf -q
mldf info --json tar.mldf | json '{f["name"]: f["type"] for f in d["fields"]} == {"txt": "text", "wav": "audio_waveform"}'
for archive in a.tar a.tar.gz; do
    expect 0 mldf diff $archive tar.mldf <<'END'
END
    mldf convert $archive -o converted.mldf -q -f
    expect 0 mldf diff converted.mldf tar.mldf <<'END'
END
done
expect 0 mldf verify --deep a.tar <<'END'
a.tar: ok: 3 samples
--- stderr
mldf verify: a.tar: has no checksums: every value was decoded, but a changed value is not noticed
END
mldf convert tar.mldf -o b.tar -q
check test "$(tar -tf b.tar | tr '\n' ' ')" = "1.txt 1.wav 2.txt 2.wav 3.txt 3.wav "
tar -xOf b.tar 1.wav >member.wav
check cmp -s member.wav members/1.wav
expect 0 mldf diff b.tar tar.mldf <<'END'
END
mldf convert speech.mldf -o speech.tar 2>warnings
check grep -q "keys lose the ending of a recording's file" warnings
check test "$(tar -tf speech.tar | grep -v __mldf | head -n 2 | tr '\n' ' ')" = "no/1.audio.wav no/1.label.cls "
# A member that is no WAV file is named.
cp members/1.txt members/4.wav
tar -cf bad.tar -C members 1.wav 4.wav
expect_error 1 'bad.tar: 4: .wav: ' mldf pack bad.tar -o x.mldf
mldf verify --deep bad.tar --json 2>/dev/null | json '[(p["sample"], p["field"]) for p in d["problems"]] == [(1, "wav")]'
mldf pack bad.tar -o x.mldf -q --on-error=skip 2>/dev/null
mldf info --json x.mldf | json 'd["num_samples"] == 1'

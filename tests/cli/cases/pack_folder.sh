# Folders of images: odd ones, class folders, layouts, the error policy, options of the image field.
images=$source_dir/tests/data/images

# Odd images: what is packed, what is skipped and why, what is only odd.
mkdir odd && cp "$images"/* odd/
printf 'notes\n' >odd/notes.txt
printf 'x' >odd/.hidden.jpg
mkfifo odd/pipe.jpg
expect 1 mldf pack odd -o x.mldf <<'END'
--- stderr
mldf pack: warning: odd/animated.webp: more than one frame or page: decoding gives the first
mldf pack: odd/empty.jpg: the file is empty
END
check test ! -e x.mldf
mldf pack odd/ -o odd.mldf --on-error=skip --json >odd.json 2>/dev/null
json 'd["written"] == 14 and [s["source"] for s in d["skipped"]] == ["odd/empty.jpg", "odd/not_a_picture.jpg"]' <odd.json
json '{w["source"] for w in d["warnings"]} == {"odd/animated.webp", "odd/truncated.jpg", "odd/wrong_name.png"}' <odd.json
json '"the bytes are jpeg" in [w["message"] for w in d["warnings"] if "wrong" in w["source"]][0]' <odd.json
mldf info --json odd.mldf | json '[(f["name"], f["type"], f["type_id"]) for f in d["fields"]] == [("image", "image", 13)] and not d["card"]'
check test "$(mldf cat --json odd.mldf | python3 -c 'import json,sys; print(*[json.loads(l)["key"] for l in sys.stdin])')" = \
    "animated.webp cmyk.jpg gray.jpg lossless.webp one.png progressive.jpg rgb.bmp rgb.jpg rgb.png rgb.tif rotated.jpg sixteen.png truncated.jpg wrong_name.png"
# The bytes are the file's own.
for name in cmyk.jpg sixteen.png wrong_name.png lossless.webp; do
    mldf cat --raw image --keys $name odd.mldf >raw.bin
    check cmp -s raw.bin odd/$name
done
expect_error 0 'left out odd/notes.txt: not a sample by its name' mldf pack odd -o v.mldf -v --on-error=skip
check grep -qF 'left out odd/.hidden.jpg: hidden' "$work/got.err"
check grep -qF 'left out odd/pipe.jpg: neither a file nor a folder' "$work/got.err"
# --check decodes: the one that is cut is found.
mldf pack odd -o check.mldf --on-error=skip --check --json 2>/dev/null |
    json 'd["written"] == 13 and [s["source"] for s in d["skipped"]][-1] == "odd/truncated.jpg"'
mkdir cut && cp "$images/truncated.jpg" cut/
expect_error 1 'cut/truncated.jpg: ' mldf pack cut -o cut.mldf --check
expect_error 0 'warning: cut/truncated.jpg: the jpeg data has no end mark' mldf pack cut -o cut.mldf

# Wide, too wide, too large: the last is a hole, nothing is read.
mkdir wide && python3 - <<'END'
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
for width in 65500, 70000:
    with open("wide/%d.png" % width, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, 1, 8, 0, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(bytes(width + 1))) + chunk(b"IEND", b""))
END
truncate -s 4G wide/huge.jpg
mldf pack wide -o wide.mldf --on-error=skip --json >wide.json
json 'd["written"] == 1 and sorted(s["source"] for s in d["skipped"]) == ["wide/70000.png", "wide/huge.jpg"]' <wide.json
json '"at most 4294967295" in str(d["skipped"]) and "more than 65535" in str(d["skipped"])' <wide.json
rm wide/huge.jpg
expect_error 1 'wide/70000.png: ' mldf pack wide -o w2.mldf
mldf pack wide -o w2.mldf -q --max-resolution 1000
mldf info --json w2.mldf | json 'd["num_samples"] == 2'
mldf pack wide -o - -q --max-resolution 1000 >stream.mldf
check mldf diff w2.mldf stream.mldf >same

# Class folders: labels, names in the card, any number of threads.
mkdir -p photos/{dog,cat/young,Ant} && cp "$images/rgb.jpg" photos/dog/2.jpg && cp "$images/gray.jpg" photos/dog/1.jpg
cp "$images/rgb.png" photos/cat/young/1.png && cp "$images/rgb.bmp" photos/cat/z.bmp && cp "$images/one.png" photos/Ant/1.png
printf '{}' >photos/index.json
mkdir photos/empty photos/notes && touch photos/notes/a.txt
expect 0 mldf pack photos/ -o photos.mldf <<'END'
--- stderr
mldf pack: photos.mldf: 5 samples written, 7.0 KiB in all
END
mldf info --json photos.mldf | json 'd["card"] == {"classes": ["Ant", "cat", "dog"]} and [f["name"] for f in d["fields"]] == ["image", "label"]'
check test "$(mldf cat --json photos.mldf | python3 -c 'import json,sys
for l in sys.stdin: d = json.loads(l); print(d["key"], d["fields"]["label"], end=" ")')" = "Ant/1.png 0 cat/young/1.png 1 cat/z.bmp 1 dog/1.jpg 2 dog/2.jpg 2 "
for threads in 0 1 2; do
    mldf pack photos -o t$threads.mldf -q -j $threads
    check cmp -s photos.mldf t$threads.mldf
done
cp -r photos elsewhere && touch -d 2001-01-01 elsewhere/*/*.*
mldf pack ./elsewhere/ -o e.mldf -q
check cmp -s photos.mldf e.mldf
(cd photos && "$MLDF" pack . -o ../dot.mldf -q)
check cmp -s photos.mldf dot.mldf
printf '{"title":"pets"}' >card.json
mldf pack photos -o card.mldf -q --card card.json
mldf info --json card.mldf | json 'd["card"] == {"title": "pets", "classes": ["Ant", "cat", "dog"]}'
printf '{"classes":["a"]}' >card.json
expect_error 2 "the card's \"classes\" are not the names of the class folders" mldf pack photos -o c2.mldf --card card.json
# Layouts.
mldf pack photos -o flat.mldf -q --layout flat
mldf info --json flat.mldf | json 'd["num_samples"] == 5 and d["card"] is None and [f["name"] for f in d["fields"]] == ["image"]'
cp "$images/one.png" photos/top.png
# A stray file beside the class folders does not take the labels of all others: its label is null, and a warning names it.
expect 0 mldf pack photos -o mixed.mldf <<'END'
--- stderr
mldf pack: warning: photos/top.png: files beside the class folders: 1 of 6; their label is null; use layout flat if the sub-folders are not classes
mldf pack: mixed.mldf: 6 samples written, 7.2 KiB in all
END
mldf info --json mixed.mldf | json 'd["num_samples"] == 6 and [(f["name"], f["nullable"]) for f in d["fields"]] == [("image", False), ("label", True)] and d["card"]["classes"] == ["Ant", "cat", "dog"]'
mldf cat --json --keys top.png,dog/1.jpg mixed.mldf | python3 -c 'import json, sys
assert [json.loads(l)["fields"]["label"] for l in sys.stdin] == [None, 2]' || check false
mldf pack photos -o mixed2.mldf --json -q | json 'len(d["warnings"]) == 1 and d["warnings"][0]["source"] == "photos/top.png"'
# Appending: null where the file's field is nullable, an error that names the file where it is not.
mkdir -p more1/cat && cp "$images/one.png" more1/cat/8.png && cp "$images/one.png" more1/cat/9.png && cp "$images/one.png" more1/extra.png
mldf append mixed.mldf more1 -q && mldf cat --json --keys extra.png mixed.mldf | json 'd["fields"]["label"] is None'
expect_error 1 'more1/extra.png: lies in no class folder' mldf append photos.mldf more1 -q
# More samples beside the folders than in them: the folders are not classes, and that is said, too.
mkdir -p beside/more && cp "$images/one.png" beside/1.png && cp "$images/one.png" beside/2.png && cp "$images/one.png" beside/more/3.png
mldf pack beside -o beside.mldf --json -q | json 'd["written"] == 3 and "use layout classes if they are" in d["warnings"][0]["message"]'
mldf info --json beside.mldf | json '[f["name"] for f in d["fields"]] == ["image"]'
expect_error 1 'photos/top.png: lies in no class folder' mldf pack photos -o c3.mldf -q --layout classes
mldf pack photos -o c3.mldf --layout classes --on-error=skip --json | json 'd["written"] == 5 and d["skipped"] == [{"source": "photos/top.png", "message": "lies in no class folder"}]'
rm photos/top.png
# Several folders: keys begin with the folder, classes are the union.
mkdir -p more/cat more/bee && cp "$images/one.png" more/cat/1.png && cp "$images/one.png" more/bee/1.png
mldf pack photos more -o both.mldf -q
mldf info --json both.mldf | json 'd["num_samples"] == 7 and d["card"]["classes"] == ["Ant", "bee", "cat", "dog"]'
mldf cat --json --keys more/cat/1.png both.mldf | json 'd["fields"]["label"] == 2'

# Links are followed; a loop and a link to nothing are errors.
mkdir links && ln -s ../photos/dog/1.jpg links/a.jpg && ln -s ../photos/cat links/more
mldf pack links -o links.mldf -q
mldf info --json links.mldf | json 'd["num_samples"] == 3'
ln -s nothing links/b.jpg
expect_error 3 'links/b.jpg: cannot be read' mldf pack links -o l2.mldf
mldf pack links -o l2.mldf --on-error=skip --json | json 'd["written"] == 3 and d["skipped"][0]["source"] == "links/b.jpg"'
mkdir -p loop/a && cp "$images/one.png" loop/a/ && ln -s .. loop/a/up
expect_error 2 'loop/a/up: a link leads back to a folder that it lies in' mldf pack loop -o loop.mldf
mldf pack loop -o loop.mldf --on-error=skip --json -q | json 'd["written"] == 1 and d["skipped"] == [{"source": "loop/a/up",
    "message": "a link leads back to a folder that it lies in"}]'
mkdir nothing && expect 1 mldf pack nothing -o n.mldf <<'END'
--- stderr
mldf pack: nothing: there are no images, recordings, videos or files of optical flow in this folder
END

# Options that make no sense here are refused.
expect_error 2 'no schema' mldf pack photos -o s.mldf --schema '{"fields":[{"name":"a","type":"int"}]}'
expect_error 2 'a key column is for tables' mldf pack photos -o s.mldf --key-column k
printf 'a\n1\n' >t.csv
expect_error 2 'a layout is for folders' mldf pack t.csv -o s.mldf --layout flat
expect_error 2 'one run packs sources of one kind' mldf pack photos t.csv -o s.mldf
expect_error 2 'is none of flat, classes, frames and auto' mldf pack photos -o s.mldf --layout deep
expect_error 2 'there is no image field' mldf pack t.csv -o s.mldf --quality 50
expect_error 2 'argument "quality" is not an integer from 1 to 100' mldf pack photos -o s.mldf --quality 101
expect_error 2 "--encode: 'gif' is none of keep, jpeg" mldf pack photos -o s.mldf --encode gif
expect_error 2 'is not a number from 0 to 1' mldf pack photos -o s.mldf --compress-probability 1.5
expect_error 2 'is a folder, and another format was asked for' mldf pack photos -o s.mldf --format csv
check test ! -e s.mldf

# How images are stored.
size_of() { python3 -c 'import struct, sys
b, at = sys.stdin.buffer.read(), 2
while b[at + 1] not in (0xc0, 0xc2): at += 2 + struct.unpack(">H", b[at + 2:at + 4])[0]
h, w = struct.unpack(">HH", b[at + 5:at + 9]); print(w, h, "progressive" if b[at + 1] == 0xc2 else "baseline")'; }
mkdir jpegs && cp "$images"/{rgb,progressive,rotated}.jpg jpegs/
mldf pack jpegs -o small.mldf -q --max-resolution 24 --encode jpeg --quality 70
mldf info --json small.mldf | json 'd["fields"][0]["arguments"] == {"encode": "jpeg", "max_resolution": 24, "quality": 70}'
check test "$(mldf cat --raw image --keys rgb.jpg small.mldf | size_of)" = "24 16 baseline"
mldf pack jpegs -o least.mldf -q --min-resolution 8
check test "$(mldf cat --raw image --keys rgb.jpg least.mldf | size_of)" = "12 8 baseline"
mldf pack jpegs -o turned.mldf -q --orientation apply
check test "$(mldf cat --raw image --keys rotated.jpg turned.mldf | size_of)" = "32 48 baseline"
for threads in 0 2; do
    mldf pack jpegs -o small$threads.mldf -q --max-resolution 24 --encode jpeg --quality 70 -j $threads
    check cmp -s small.mldf small$threads.mldf
done
# --baseline: other bytes, the same pixels.
mldf pack jpegs -o base.mldf -q --baseline
mkdir based && mldf cat --raw image --keys progressive.jpg base.mldf >based/progressive.jpg
check test "$(size_of <based/progressive.jpg)" = "48 32 baseline"
check test "$(size_of <jpegs/progressive.jpg)" = "48 32 progressive"
mldf pack based -o raw1.mldf -q --encode raw
mldf pack jpegs -o raw2.mldf -q --encode raw
mldf cat --raw image --keys progressive.jpg raw1.mldf >1.bin
mldf cat --raw image --keys progressive.jpg raw2.mldf >2.bin
check cmp -s 1.bin 2.bin
check test "$(wc -c <1.bin)" = 4608
mldf pack jpegs -o smart.mldf -q --encode smart --smart-threshold 4K
mldf cat --raw image --keys rgb.jpg smart.mldf >1.bin
check cmp -s 1.bin jpegs/rgb.jpg
for how in proportion yuv420; do
    mldf pack jpegs -o $how.mldf -q --encode $how --compress-probability 1
    check mldf verify --deep $how.mldf >verified
done
mldf verify --deep --json odd.mldf | json '[p["field"] for p in d["problems"]] == ["image"] and d["good_samples"] == d["num_samples"] - 1'
check mldf verify --deep photos.mldf >verified
# verify --deep decodes every image: one that is cut behind its header is found by name.
mkdir deep
cp "$source_dir/tests/data/images/truncated.jpg" "$source_dir/tests/data/images/rgb.png" deep
mldf pack deep -o deep.mldf -q 2>/dev/null
expect_error 0 '' mldf verify deep.mldf
mldf verify --deep --json deep.mldf | json 'd["ok"] is False and d["good_samples"] == 1 and d["problems"][0]["sample"] == 1 and d["problems"][0]["field"] == "image"'

# Two bad files: the first in order is named, though the second is found at once and the first by a thread.
mkdir order
for n in 10 11 12 13 14 15; do cp "$images/rgb.jpg" order/$n.jpg; done
cp "$images/truncated.jpg" order/11.jpg
: >order/14.jpg
for threads in 0 1 2 7; do
    expect_error 1 'order/11.jpg: ' mldf pack order -o order.mldf --check -j $threads
    check test ! -e order.mldf
done

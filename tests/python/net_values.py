"""The net's pipelines of images that are stored in other ways, of values, collating, buckets and nulls. Neighbours: net_cases.py."""

from net_run import Case

_ROLES = "\n".join(
    [
        "hw as image: random_resized_crop([9, 8]) | hflip | normalize(half)",
        "hwc as image: resize([7, 9]) | color_jitter(0.5) | chw",
        "deep as image: resize([6, 5]) | vflip | to_float",
        "half as image: random_crop(7) | hflip",
        "brain as image: center_crop(8) | vflip",
        "single as image: rotate(30) | brightness(1.2) | chw",
        "free as image: random_translate(3) | pad(mask=true)",
        "i = ids: cast(u16)",
        "m = i as mask: rotate(20, mask_fill=3)",
    ]
)

IMAGES = [
    Case("arrays as images", "arrays", _ROLES, 4, (0, 1), options={"seed": 8}),
    Case(
        "arrays as masks",
        "arrays",
        "hw as mask: resize([9, 9]) | replace_label([1, 2, 3], 200) | squeeze\ndeep as mask: random_crop(5)\nfree as mask: resize([8, 8])",
        4,
        options={"seed": 8},
    ),
    Case("arrays as they are", "arrays", "free: drop", 4),
    *(
        Case(f"recordings {name}", "recordings", text, 4, epochs, options={"seed": 8, **more})
        for name, text, epochs, more in (
            (
                "of all kinds",
                "u1: window(0.006, random, pad)\ni4: window(samples=50, at=center)|pad\nf4: decode_audio(true)|window(0.01)|pad\n"
                "f8: window(samples=80, start=9, short=pad)\ni2: decode_audio|pad(200)\nother: drop\nrows: drop\n"
                "none: window(0.01, pad) | fill(0, valid=true)",
                (0, 1),
                {},
            ),
            (
                "in groups",
                "i2, other: window(0.008, random, pad)\nother: pad\nf4, u1: window(samples=70, at=random)|pad\nrows: window(samples=20, at=random) | pad\n"
                "none: drop\ni4: drop\nf8: drop",
                (0, 1),
                {"shuffle": True},
            ),
            (
                "in buckets",
                "i2: window(0.012, random)|pad\nnone: drop\nu1: drop\ni4: drop\nf8: drop\nf4: drop\nother: drop\nrows: ragged",
                (0,),
                {"bucket": "i2", "bucket_window": 8, "shuffle": True},
            ),
            (
                "bad skipped",
                "i2: window(samples=100, short=error)\nnone: window(0.01)|pad\nu1: drop\ni4: drop\nf8: drop\nf4: drop\nother: drop\nrows: drop",
                (0,),
                {"on_error": "skip"},
            ),
        )
    ),
    Case("png as they are", "pngs", "image: pad\nmixed: decode\nalpha: decode\ndeep: decode", 5),
    Case(
        "png resized",
        "pngs",
        "image: resize([11, 12]) | normalize(imagenet) | chw\nmixed: resize([9, 9])\nalpha: resize([7, 20]) | chw(f32)\ndeep: resize([5, 5])",
        5,
    ),
    Case(
        "png cropped",
        "pngs",
        "image: random_resized_crop(8) | hflip\nmixed: random_crop(9)\nalpha: random_resized_crop([6, 7])\ndeep: random_crop([6, 7]) | to_float",
        5,
        (0, 1),
        options={"seed": 1},
    ),
    Case(
        "png channels",
        "pngs",
        "image: resize([9, 9])\nmixed: decode | hflip\nalpha: decode\ndeep: decode",
        5,
        open={"channels": 1},
    ),
    Case(
        "png rgba",
        "pngs",
        "image: resize([9, 9])\nmixed: vflip\nalpha: grayscale",
        5,
        open={"channels": 4, "orient": True},
    ),
    Case("stored as they are", "stored", "yuv: decode\nany: pad\nraw: decode", 4),
    Case(
        "stored resized",
        "stored",
        "yuv: random_resized_crop(9) | hflip | normalize(half) | chw\nany: resize([6, 7])\nraw: random_crop(6) | chw(f32)",
        4,
        (0, 1),
    ),
    Case(
        "yuv to float", "stored", "yuv: resize([11, 13]) | to_float\nany: drop\nb = yuv: center_crop(20) | chw(f32)", 4
    ),
    Case("tar", "tar", "png: random_resized_crop(9) | chw\ntxt: fill(valid=true) | pad", 4, (0, 1)),
    Case(
        "tars of different fields",
        "tar+tar2",
        "png: random_resized_crop(9)\ntxt: fill | pad\ncls: fill(-1, valid=true)\njson: fill | ragged",
        4,
        (0, 1),
        (1, 2),
        {"shuffle": True},
    ),
    Case("tar padded", "tar", "png: pad(multiple=8)\ntxt: fill | ragged", 4),
    Case("beton", "fixed.beton", "image: random_crop(9) | hflip\ngray: decode\ndeep: decode", 4, (0, 1)),
    Case(
        "tar of fixed", "fixed.tar", "image.png: random_crop(9) | hflip\ngray.png: decode\ndeep.png: decode", 4, (0, 1)
    ),
    Case(
        "deep colours",
        "fixed",
        "deep: color_jitter(0.4, 0.3, 0.2, 0.1) | solarize(p=1) | posterize(4) | normalize(half)\nimage: drop",
        4,
        (0, 1),
    ),
    Case(
        "long chain",
        "fixed",
        'image: hflip | brightness(1.2) | to_float | expr("x * 2") | scale(0.3, 1) | normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4]) | chw | cast(f16)',
        4,
        (0, 1),
    ),
    Case(
        "imagenet",
        "sizes",
        "image: random_resized_crop([14, 16]) | hflip | normalize(imagenet) | chw(f32)\nlabel: one_hot(7) | label_smoothing",
        4,
        (0, 1, 2),
        options={"seed": 99, "shuffle": True},
    ),
    Case("validation", "sizes", "image: resize(18) | center_crop(14) | normalize(imagenet) | chw(f32)", 4),
    Case(
        "cifar",
        "fixed",
        "image: random_crop([20, 28], padding=4) | hflip | cutout(8) | normalize(cifar10) | chw(f16)",
        6,
        (0, 1),
        options={"seed": 1, "order": "quasi-random"},
    ),
    Case("expanded and padded", "sizes", "image: rotate(60, expand=true) | pad", 4, (0, 1), options={"seed": 1}),
]

# ---- Values, collating, nulls ----------------------------------------------------------------------------------------------------

_EVERYTHING = "\n".join(
    [
        "list: pad(value=-5)",
        "table: ragged",
        "alike: flatten | pad(mask=true)",
        "open: flatten | pad",
        "text: pad(mask=true)",
        "json: ragged",
        "blob: pad(multiple=3)",
        "x = pose.x",
        "y = pose.y: cast(f32)",
        "id = pose.id",
        "name = pose.name",
        "b = pose.in.b: flatten",
        "a = pose.in.a",
    ]
)

VALUES = [
    Case("values as they are", "values", None, 5),
    Case("values, everything", "values", _EVERYTHING, 5),
    Case("values, zstd", "zstd", _EVERYTHING, 5),
    Case("values, dictionary", "dictionary", _EVERYTHING, 5),
    Case("values, encrypted", "secret", _EVERYTHING, 5),
    Case("values, keys", "keyed", "list: drop", 5, options={"key": True, "shuffle": True}),
    Case("values, fields", "values", "small = real: scale(2)", 5, options={"fields": ["flag", "small", "real", "u8"]}),
    Case(
        "values, casts",
        "values",
        "u8: cast(i16)\ni16: cast(u8)\nu32: cast(f32)\ni64: cast(i32)\nflag: cast(f64)\nreal: cast(i8)\nf32s: cast(bf16)\nf16s: cast(f64)"
        "\nbf16s: cast(f32)\ni32s: cast(i16) | to_float\nbools: cast(u8)\ngrid: cast(f16)",
        5,
    ),
    Case(
        "values, expressions",
        "values",
        'f32s: expr("x > 0 ? x : -x * p0", p=[0.5])\nf16s: expr("tanh(x) + log(abs(x) + 1) + cos(x)")\nu8: expr("sqrt(x)")'
        "\ni64: label_mixup(0.5)",
        5,
        (0, 1),
    ),
    Case(
        "members alone",
        "values",
        "x = pose.x: scale(2)\nr = real: cast(f32)\nxy = [x, r]: concat\nname = pose.name: cast(i64)\nb = pose.in.b: cast(f32) | reshape([4])",
        5,
    ),
    Case("custom", "custom", None, 4),
    Case("custom bytes", "custom", "p: pad", 4),
    Case("golden scalars_204", "golden:draft/scalars_204.mldf", None, 4),
    Case("golden scalars_208", "golden:draft/scalars_208.mldf", None, 4),
    Case("golden media_204", "golden:draft/media_204.mldf", None, 3),
    Case("golden media_208", "golden:draft/media_208.mldf", "raw: pad\ncaption: ragged\ninfo: pad", 3),
    Case("golden missing_208", "golden:draft/missing_208.mldf", "raw: fill | pad", 3, options={"on_error": "skip"}),
    Case(
        "vector images",
        "vector:images",
        "any: resize([4, 5]) | fill(7, valid=true)\npixels: pad\npng: resize([3, 3]) | fill",
        3,
    ),
    Case("vector no_statistics", "vector:no_statistics", None, 3),
    Case("vector inline", "vector:inline", None, 3),
    Case("vector ndarray_shapes", "vector:ndarray_shapes", None, 3),
    Case("vector row_gaps", "vector:row_gaps", None, 3),
    Case(
        "ragged lists",
        "values",
        "list: ragged\ntable: truncate(2) | ragged\ntext: ragged\nblob: ragged",
        5,
        options={"shuffle": True},
    ),
    Case(
        "padded lists",
        "values",
        "list: pad(9, mask=true)\ntable: truncate(4, side=left) | pad(4, value=-1)\ntext: truncate(6) | pad(mask=true)\nblob: pad(multiple=8)",
        5,
        options={"shuffle": True},
    ),
    Case(
        "pad images",
        "sizes",
        "image: pad(mask=true)\nseg as mask: pad(value=255)",
        4,
        (0, 1),
        options={"shuffle": True},
    ),
    Case("pad equal sizes", "fixed", "image: pad(mask=true)\ngray: pad\ndeep: pad(multiple=8, value=3)", 4),
    Case(
        "pad equal sizes to a size",
        "fixed",
        "image: pad([30, 32], value=7, mask=true)\ngray: pad(20)\ndeep: chw | pad(16)",
        4,
    ),
    Case("pad fixed sides", "sizes", "image: pad([40, 0], mask=true)\nseg as mask: pad([0, 40])", 4),
    Case("pad to a square", "sizes", "image: pad(40, value=1)\nseg as mask: pad(40, value=2, mask=true)", 4),
    Case("pad planar", "sizes", "image: chw(f32) | pad(mask=true, value=-1)\nseg as mask: chw | pad", 4),
    Case("pad planar fixed side", "sizes", "image: normalize(half) | chw | pad([0, 48], value=0.5)", 4),
    Case("pad one side resized", "sizes", "image: resize(12) | pad(mask=true)", 4),
    Case(
        "pad multiple",
        "sizes",
        "image: pad(multiple=16, mask=true)\nseg as mask: chw | pad(multiple=8)\nbox: pad(multiple=3)\npts: pad(4, mask=true)",
        4,
    ),
    Case("pad free arrays", "arrays", "free as image: hflip | pad", 4),
    Case(
        "bucket lists", "many", "list: pad", 8, (0, 1), options={"bucket": "list", "bucket_window": 40, "shuffle": True}
    ),
    Case(
        "bucket ragged",
        "many",
        "list: ragged",
        8,
        (0, 1),
        options={"bucket": "list", "bucket_window": 64, "shuffle": True},
    ),
    Case(
        "bucket budget",
        "many",
        "list: pad(multiple=4)",
        8,
        (0, 1),
        options={"bucket": "list", "bucket_window": 64, "budget": 300, "order": "random", "seed": 2},
    ),
    Case(
        "bucket budget of ranks",
        "some",
        "list: pad",
        8,
        (0,),
        (2, 3),
        {"bucket": "list", "bucket_window": 40, "budget": 300, "order": "random", "seed": 2},
    ),
    Case(
        "bucket ranks",
        "some",
        "list: pad",
        5,
        (1,),
        (1, 2, 4, 3),
        {"bucket": "list", "bucket_window": 30, "shuffle": True},
    ),
    Case(
        "bucket last",
        "some",
        "list: pad",
        8,
        (0,),
        (2,),
        {"bucket": "list", "bucket_window": 30, "shuffle": True, "last": "drop"},
    ),
    Case(
        "bucket last padded",
        "some",
        "list: pad",
        8,
        (0,),
        (2,),
        {"bucket": "list", "bucket_window": 30, "shuffle": True, "last": "pad"},
    ),
    Case(
        "bucket images",
        "sizes",
        "image: pad\nseg as mask: pad",
        3,
        (0, 1),
        options={"bucket": "image", "bucket_window": 8, "shuffle": True},
    ),
    Case(
        "bucket masks",
        "sizes",
        "image: pad\nseg as mask: pad",
        3,
        (0, 1),
        options={"bucket": "seg", "bucket_window": 13, "shuffle": True},
    ),
    *(
        Case(
            f"bucket ties, {name}",
            "ties",
            f"image: {steps}",
            2,
            (0, 1),
            options={"bucket": "image", "bucket_window": 15, "shuffle": True, **options},
        )
        for name, steps, options in (
            ("images", "pad(mask=true)", {}),
            ("planar", "chw | pad(mask=true)", {}),
            ("one fixed side", "pad([16, 0])", {}),
            ("multiple", "pad(multiple=4)", {"budget": 900}),
        )
    ),
    Case(
        "bucket png budget",
        "pngs",
        "image: pad(multiple=4)",
        3,
        (0, 1),
        options={"bucket": "image", "bucket_window": 12, "budget": 6000, "shuffle": True},
    ),
    Case(
        "bucket planar",
        "pngs",
        "image: chw(f32) | pad",
        3,
        (0,),
        (1, 2),
        {"bucket": "image", "bucket_window": 6, "shuffle": True},
    ),
    Case(
        "bucket resized",
        "sizes",
        "image: resize(9) | pad\nseg: drop",
        3,
        (0,),
        (1,),
        {"bucket": "image", "bucket_window": 8, "shuffle": True},
    ),
    Case(
        "bucket drawn",
        "sizes",
        "image: rotate(60, expand=true) | pad\nseg: drop",
        3,
        (0, 1),
        (1,),
        {"bucket": "image", "bucket_window": 8, "seed": 4},
    ),
    Case(
        "nulls filled",
        "nulls",
        "age: fill(-1, valid=true) | cast(f32)\nreal: fill(nan)\nvector: scale(2) | fill(9, valid=true)\nlist: fill | pad(mask=true)"
        "\ntext: fill(valid=true) | ragged\nimage: resize([8, 9]) | hflip | fill([124, 116, 104], valid=true) | normalize(half) | chw\nalike: fill(3)\nx = pose.x: fill(5)",
        5,
        (0, 1),
        options={"shuffle": True},
    ),
    Case(
        "nulls in a group",
        "nulls",
        "image: resize([8, 8]) | fill(valid=true)\nalike as mask: fill(7) | resize([8, 8])\nalike, image: hflip\nage: fill",
        5,
        (0, 1),
    ),
    Case(
        "nulls filled and padded",
        "nulls",
        "list: fill(valid=true) | pad(6, value=-1)\ntext: fill | pad(multiple=4, mask=true)\nage: fill(1) | one_hot(99)",
        5,
    ),
    Case("nulls mixed", "nulls", "alike: fill(9) | mixup(0.5)\nvector: fill(1) | mixup", 4, (0, 1)),
    Case("nulls raise", "nulls", "age: cast(f32)", 2),
]

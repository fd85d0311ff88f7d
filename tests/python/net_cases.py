"""All pipelines of the net. Names stay: the expected values in tests/net stand under them. New cases may be added (tests/net/write.py).

Here: bad samples, orders and ranks, and JPEG and WebP, whose pixels depend on a library's version. The others: net_operations.py, net_groups.py,
net_values.py.
"""

from net_groups import GROUPS
from net_operations import OPERATIONS
from net_run import Case
from net_values import IMAGES, VALUES

_PAIRS = "label: one_hot(10)\nimage, label: mixup(0.3) | cutmix(0.9)\ngray: drop\ndeep: drop"
_THREE = "part_a+part_b+part_c"

RUNS = [
    Case("bad raised", "bad", "image: resize([8, 8])\nlist: pad", 4),
    *(
        Case(f"bad {how}, {name}", data, text, 4, (0, 1), worlds, {"on_error": how, "seed": 11, **options})
        for how in ("skip", "substitute")
        for name, data, text, worlds, options in (
            ("damaged", "bad", "image: resize([8, 8]) | hflip\nlist: ragged", (1,), {}),
            ("damaged and padded", "bad", "image: pad(mask=true)\nlist: pad", (1,), {"shuffle": True}),
            ("damaged of ranks", "bad", "image: random_crop(7)\nlist: pad", (2, 3), {"shuffle": True}),
            ("damaged in buckets", "bad", "image: pad\nlist: ragged", (1,), {"bucket": "image", "bucket_window": 10}),
            (
                "damaged in pairs",
                "bad",
                "image: resize([8, 8]) | mixup(0.5)\nlabel: label_mixup\nlist: pad",
                (1,),
                {"shuffle": True},
            ),
            ("damaged of a subset", "bad", "image: resize([8, 8])", (1,), {"subset": [0, 1, 3, 9, 12, 13, 18, 5]}),
            (
                "damaged by weights",
                "bad",
                "image: resize([8, 8])",
                (1,),
                {"weights": [1 + i % 3 for i in range(20)], "samples_per_epoch": 14},
            ),
            (
                "poisoned",
                "bad",
                "image: resize([8, 8]) | poison([1, 2, 8, 16], 4, 255)\nlabel: replace_label(indices=[1, 8], label=99)",
                (1,),
                {},
            ),
            ("null", "rarely", "x: cast(f32)\nimage: random_crop(9)", (1, 2), {"shuffle": True}),
            ("flipped bits", "flipped", "image: hflip", (1,), {}),
            ("two files", "bad+bad", "image: resize([8, 8])\nlist: drop", (1,), {"shuffle": True}),
            (
                "mixture",
                "bad+bad",
                "image: resize([8, 8])\nlist: drop",
                (1,),
                {"ratios": [1, 2], "samples_per_epoch": 17},
            ),
        )
        if not (name == "two files" and how == "skip")
    ),
    Case(
        "flipped bits, checked", "flipped", "image: hflip", 4, (0,), (1,), {"on_error": "substitute"}, {"verify": True}
    ),
    Case("order sequential", "many", "list: drop", 32, (0, 1)),
    Case("order random", "many", "list: drop", 32, (0, 1, 2**40), options={"order": "random", "seed": 2**64 - 1}),
    Case(
        "order quasi-random",
        "many",
        "list: drop",
        32,
        (0, 5),
        options={"order": "quasi-random", "block": 7, "window": 3, "seed": 4},
    ),
    Case("order quasi-random defaults", "many", "list: drop", 32, (0, 5), options={"order": "quasi-random"}),
    Case(
        "order of a subset", "many", "list: drop", 8, (0, 1), options={"subset": [9, 3, 3, 200, 17, 18, 19, 0, 77, 140]}
    ),
    Case(
        "order of a shuffled subset",
        "many",
        "list: drop",
        8,
        (0, 1),
        options={"subset": [9, 3, 3, 200, 17, 18, 19, 0, 77, 140], "shuffle": True},
    ),
    Case(
        "order of a slice",
        "many",
        "list: drop",
        16,
        (0, 1),
        options={"subset": slice(10, 150, 3), "order": "quasi-random", "block": 5, "window": 2},
    ),
    Case(
        "order of weights",
        "many",
        "list: drop",
        16,
        (0, 1),
        options={"weights": [i % 4 + 0.25 for i in range(211)], "seed": 3},
    ),
    Case(
        "order of weights, few",
        "many",
        "list: drop",
        16,
        (0, 1),
        (1, 2),
        {"weights": [i % 4 for i in range(211)], "samples_per_epoch": 70},
    ),
    Case("order of classes", "many", "list: drop", 16, (0, 1), options={"balance": "label", "samples_per_epoch": 60}),
    Case("order of files", _THREE, "image: random_crop(9)", 5, (0, 1), options={"shuffle": True}),
    Case("order of files, sequential", _THREE, "image: random_crop(9)\ngray: hflip", 6, (0, 1), (1, 2)),
    Case("mixture", _THREE, "image: random_crop(9)", 5, (0, 1), options={"ratios": [3, 1, 2]}),
    Case(
        "mixture of ranks",
        _THREE,
        "image: random_crop(9) | hflip",
        3,
        (0, 1),
        (1, 2, 4, 3),
        {"ratios": [1, 2, 1], "samples_per_epoch": 20, "seed": 6},
    ),
    Case("ranks", "fixed", "image: random_crop(9) | hflip", 2, (0, 1), (1, 2, 4, 3), {"shuffle": True, "seed": 6}),
    Case("ranks, drop", "fixed", "image: random_crop(9)", 2, (0,), (2, 4, 3), {"shuffle": True, "last": "drop"}),
    Case("ranks, pad", "fixed", "image: random_crop(9)", 2, (0,), (2, 4, 3), {"shuffle": True, "last": "pad"}),
    Case(
        "ranks, global batch",
        "fixed",
        "image: random_crop(9)",
        0,
        (0, 1),
        (1, 2, 4, 3),
        {"shuffle": True, "global_batch_size": 7},
    ),
    Case(
        "ranks, global batch, padded",
        "sizes",
        "image: pad\nseg: drop",
        0,
        (0,),
        (1, 2, 3),
        {"shuffle": True, "global_batch_size": 5, "last": "pad"},
    ),
    Case("pairs of ranks", "fixed", _PAIRS, 3, (0, 1), (1, 2, 4, 3), {"shuffle": True, "seed": 8}),
    Case("pairs of ranks, sequential", "fixed", _PAIRS, 5, (0,), (1, 2, 3)),
    Case(
        "pairs of a global batch",
        "fixed",
        _PAIRS,
        0,
        (0,),
        (2, 3, 4),
        {"shuffle": True, "global_batch_size": 9, "last": "drop"},
    ),
    Case("pairs of a mixture", _THREE, _PAIRS, 3, (0,), (1, 2), {"ratios": [1, 1, 1], "samples_per_epoch": 13}),
    Case("pairs of one sample", "fixed", _PAIRS, 5, (0, 1), (1,), {"subset": [4]}),
    Case(
        "pairs, shared",
        "fixed",
        _PAIRS.replace("(0.3)", "(0.3, shared=true)").replace("(0.9)", "(0.9, shared=true)"),
        3,
        (0, 1),
        (1, 3),
        {"shuffle": True},
    ),
    *(
        Case(
            f"augment, seed {seed}",
            "sizes",
            "image: random_resized_crop([12, 12]) | hflip | color_jitter(0.4, 0.4, 0.4, 0.1) | random_grayscale(0.2) | randaugment | erasing | normalize(imagenet) | chw",
            6,
            (0, 1, 7),
            options={"seed": seed, "shuffle": True},
        )
        for seed in (0, 1, 12345678901234567890)
    ),
]

PORTABLE = [*OPERATIONS, *GROUPS, *IMAGES, *VALUES, *RUNS]

# ---- What a codec library decides ------------------------------------------------------------------------------------------

CODECS = [
    Case("jpeg as it is", "jpegs", "image: pad", 4),
    Case(
        "jpeg random_resized_crop",
        "jpegs",
        "image: random_resized_crop(24) | hflip | normalize(imagenet) | chw(f32)",
        4,
        (0, 1),
        options={"seed": 3, "shuffle": True},
    ),
    Case(
        "jpeg small crops",
        "jpegs",
        "image: random_resized_crop([9, 12], scale=[0.01, 0.2])",
        4,
        (0, 1),
        options={"seed": 3},
    ),
    Case("jpeg exact", "jpegs", "image: random_resized_crop(12)", 4, (0, 1), options={"exact": True}),
    Case(
        "jpeg resize",
        "jpegs",
        "image: resize(20) | center_crop(16)\nb = image: resize([100, 90])\nc = image: resize([8, 8], filter=lanczos)",
        4,
    ),
    Case("jpeg crop", "jpegs", "image: random_crop([30, 40]) | hflip", 4, (0, 1)),
    Case(
        "jpeg gray",
        "jpegs",
        "image: decode(channels=1) | resize([20, 20])\nb = image: decode(channels=4) | random_crop(16)",
        4,
    ),
    Case(
        "jpeg augment",
        "jpegs",
        "image: random_resized_crop(16) | color_jitter(0.4, 0.4, 0.4, 0.1) | randaugment | to_float | chw",
        4,
        (0, 1),
        options={"seed": 9},
    ),
    Case(
        "jpeg mixup",
        "jpegs",
        "image: random_resized_crop(10) | mixup(0.4)\nlabel: label_mixup",
        4,
        (0,),
        (1, 2),
        {"shuffle": True},
    ),
    Case(
        "jpeg buckets",
        "jpegs",
        "image: pad(multiple=16)",
        4,
        (0, 1),
        options={"bucket": "image", "bucket_window": 12, "budget": 200000, "shuffle": True},
    ),
    Case(
        "jpeg turned",
        "turned",
        "image: resize([12, 10])\nb = image: decode(orient=true) | resize([12, 10])\nc = image: decode(orient=true) | pad",
        4,
    ),
    Case(
        "jpeg turned by the dataset",
        "turned",
        "image: random_resized_crop([12, 10]) | hflip",
        4,
        (0, 1),
        open={"orient": True, "channels": 3},
    ),
    Case("jpeg of tbl", "jpegs.tbl", "image: random_resized_crop(16) | chw", 4, (0, 1)),
    Case("jpeg of beton", "jpegs.beton", "image: random_resized_crop(16) | chw", 4, (0, 1)),
    Case("webp as it is", "webps", "image: pad", 4),
    Case(
        "webp resized",
        "webps",
        "image: random_resized_crop(16) | hflip | normalize(half) | chw\nb = image: resize([9, 30])",
        4,
        (0, 1),
    ),
    Case("every codec", "every_codec", "image: random_resized_crop(14) | hflip | normalize(imagenet) | chw", 4, (0, 1)),
    Case("every codec, padded", "every_codec", "image: pad(multiple=4, mask=true)", 4, (0,), (1, 2), {"shuffle": True}),
]

"""The net's pipelines of groups: image, mask, boxes and points that one draw moves. Neighbours: net_cases.py.

Chains are made in the order of first naming in the text; the first image or mask of it leads and says how large the frame is. In the dataset
`unequal` some masks have another size than their images: bad samples, by the field that does not lead.
"""

from net_run import Case

TAIL = "\nimage: pad\nseg: pad(value=9)\nbox: pad(value=-1, mask=true)\npts: ragged"
MOVES = {
    "random_resized_crop": "random_resized_crop([10, 12])",
    "random_crop": "random_crop([14, 9])",
    "random_crop_padded": "random_crop([40, 50], padding=[1, 2], pad_if_needed=true, fill=7, mask_fill=8)",
    "flips": "hflip | vflip(0.3)",
    "rotate": "rotate(40, fill=5, mask_fill=6)",
    "rotate_expand": "rotate(40, expand=true, filter=bilinear)",
    "affine": "affine(20, translate=[0.2, 0.1], scale=[0.7, 1.4], shear=10, filter=bilinear, fill=1, mask_fill=2)",
    "perspective": "perspective(0.6, p=0.9, fill=3, mask_fill=4)",
    "translate": "random_translate(6, fill=5, mask_fill=6)",
    "resize": "resize(11)",
    "resize_max": "resize(30, max_size=33)",
    "center": "center_crop(31, fill=3, mask_fill=9)",
    "center_resized": "center_resized_crop([9, 8])",
    "erasing": "erasing(p=0.9)",
    "cutout": "cutout(5)",
    "many": "random_resized_crop(16) | hflip | rotate(10) | random_crop(12)",
}
ORDERS = {
    "image first": "image, seg as mask, box as boxes, pts as points: {}",
    "mask first": "seg as mask, image, pts as points, box as boxes: {}",
    "mask made first": "seg as mask: decode\nbox as boxes: cast(f32)\nimage, seg, box, pts as points: {}",
    "image made first": "image: decode\nseg as mask, pts as points, image, box as boxes: {}",
    "boxes made first": "pts as points: cast(f32)\nbox as boxes: cast(f32)\nbox, seg as mask, image, pts: {}",
}


FLOWS = {
    "resize": "resize([10, 12])",
    "resize plain": "resize([30, 8], filter=bicubic, antialias=false)",
    "resize nearest": "resize([10, 40], filter=nearest)",
    "random_resized_crop": "random_resized_crop([10, 12]) | hflip | vflip",
    "random_crop": "random_crop([14, 9], padding=3, pad_if_needed=true, fill=7) | hflip",
}


def _groups():
    for move, steps in MOVES.items():
        for order, text in ORDERS.items():
            if order in ("image first", "mask made first") or move in (
                "random_resized_crop",
                "random_crop_padded",
                "flips",
            ):
                yield Case(
                    f"group {move}, {order}",
                    "large",
                    text.format(steps) + TAIL,
                    6,
                    (0, 1),
                    options={"seed": 3, "shuffle": True, "index": False},
                )
    for order, text in ORDERS.items():
        for how in ("raise", "skip", "substitute"):
            steps = "random_resized_crop([10, 12]) | hflip"
            yield Case(
                f"group unequal, {how}, {order}",
                "unequal",
                text.format(steps) + TAIL,
                6,
                (0, 1),
                options={"seed": 3, "on_error": how},
            )
    for move, steps in FLOWS.items():
        yield Case(
            f"flow {move}",
            "flows",
            f"image, flow as flow: {steps}\nimage: pad\nflow: pad",
            4,
            (0, 1),
            options={"seed": 7, "shuffle": True},
        )


GROUPS = [
    *_groups(),
    Case(
        "group then alone",
        "large",
        "image, seg as mask: random_resized_crop([12, 12])\nimage: color_jitter(0.3) | normalize(half) | chw"
        "\nseg: squeeze | cast(i64)\nbox: drop\npts: drop",
        4,
        (0, 1),
        options={"seed": 5, "shuffle": True},
    ),
    Case(
        "group of the second pass",
        "large",
        "image, seg as mask: resize([20, 24])\nseg, image: random_crop(12)\nimage, seg: hflip\nseg, image: hflip",
        4,
        (0, 1),
        options={"seed": 5},
    ),
    Case(
        "group of a view",
        "large",
        "image: resize([20, 24])\nsmall = image, seg as mask: random_resized_crop(9)\nother = image: random_resized_crop(9)"
        "\nthird = image: random_resized_crop(9)",
        4,
        (0, 1),
        options={"seed": 5},
    ),
    Case(
        "group of two masks",
        "arrays",
        "i = ids: cast(u16)\nm = i as mask, hw as mask, hwc as image: random_resized_crop([7, 6]) | hflip",
        4,
        (0, 1),
        options={"seed": 2},
    ),
    Case(
        "group of masks alone",
        "large",
        "seg as mask: random_crop(10) | hflip | rotate(30, mask_fill=7)",
        4,
        (0, 1),
        options={"seed": 4},
    ),
    Case("group of a list", "values", "i = u8: cast(i16)\nxy = [i, i16]: stack | cast(f32)\nyx = [i16, i]: stack", 4),
    Case(
        "goes on behind others",
        "fixed",
        "a = image: random_crop(16) | hflip\nb = a: vflip | random_crop(9)\na: hflip | random_crop(9)\nc = a: hflip",
        4,
        (0, 1),
        options={"seed": 6},
    ),
    Case(
        "group goes on behind others",
        "large",
        "i = image, m = seg as mask: random_resized_crop(16) | hflip\nb = i: hflip\nk = m: random_crop(8)\nm, i: hflip | random_crop(9)",
        4,
        (0, 1),
        options={"seed": 6},
    ),
    Case(
        "streams of lists",
        "values",
        "g = f32s: mixup(0.5)\nxy = [f32s, g]: stack | mixup(0.5)\nyx = [g, f32s]: stack | mixup(0.5)\nz = xy: mixup(0.5)",
        4,
        (0, 1),
    ),
    Case(
        "group of png",
        "pngs",
        "mixed, b = mixed as mask: random_resized_crop([9, 9]) | hflip | vflip",
        4,
        (0, 1),
        options={"seed": 4},
    ),
    Case(
        "group colour",
        "fixed",
        "image, b = image: hflip | color_jitter(0.4, 0.4) | random_invert | solarize | autocontrast | posterize(3)",
        4,
        (0, 1),
        options={"seed": 4},
    ),
    Case(
        "group mixup",
        "fixed",
        "label: one_hot(10)\nlabel, image: mixup(0.5) \nimage: chw(f16)",
        4,
        (0, 1),
        options={"seed": 4, "shuffle": True},
    ),
    Case(
        "group cutmix with mask",
        "arrays",
        "m = hw as mask, hwc as image: hflip\nhwc, m: cutmix(shared=true)",
        4,
        (0, 1),
        options={"seed": 4},
    ),
    Case(
        "chain of outputs",
        "fixed",
        "crop = image: random_crop(12)\ntiny = crop: resize([5, 5]) | hflip\nother = crop: vflip\nboth = [crop, other]: concat",
        4,
        (0, 1),
        options={"seed": 6},
    ),
    Case(
        "views of one field",
        "fixed",
        "image: random_crop(12)\nb = image: random_crop(12)\nc = image: random_crop(12) | random_crop(8) | hflip | hflip",
        4,
        (0, 1),
        options={"seed": 6},
    ),
]

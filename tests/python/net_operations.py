"""The net's pipelines of every operation in docs/operations.md: with its defaults, and with arguments. Neighbours: net_cases.py."""

from net_run import Case

# name: (dataset, statements in front, output, [steps]). The first steps have defaults where there are any, the others arguments.

IMAGE = ("fixed", "", "image")
LABEL = ("fixed", "image: drop; gray: drop; deep: drop", "label")
LIST = ("values", "", "list")
WAVES = ("recordings", "none: drop; u1: pad; i4: pad; f4: pad; f8: pad; other: pad; rows: pad")


def _image(*steps):
    return (*IMAGE, list(steps))


def _sound(*steps):
    return (*WAVES, "i2", list(steps))


FRAMES = "decode_audio(mono=true) | spectrogram(32, hop=8) | "

VIDEO = ("videos", "timed: drop", "video")

STEPS = {
    "clip": (
        *VIDEO,
        [
            "clip(4)",
            "clip(5, stride=2, start=uniform, count=3, short=wrap)",
            "clip(6, fps=7.5, start=center, short=zero)",
            "clip(9, start=fixed, first=2, short=drop) | pad",
        ],
    ),
    "decode_video": (*VIDEO, ["decode_video | pad", "decode_video(channels=1, bits=16) | clip(3)"]),
    "time_jitter": (*VIDEO, ["clip(6) | time_jitter", "clip(6) | time_jitter(frames=3)"]),
    "time_reverse": (*VIDEO, ["clip(6) | time_reverse", "clip(6) | time_reverse(p=1)"]),
    "time_subsample": (*VIDEO, ["time_subsample(3) | pad", "clip(9) | time_subsample(stride=2, random=true)"]),
    "channels": _sound("channels(1) | pad", "channels([1, 0]) | pad"),
    "cmvn": _sound(FRAMES + "cmvn | pad", FRAMES + "cmvn(variance=false) | pad"),
    "db": _sound(FRAMES + "db | pad", FRAMES + "db(80, of=magnitude, ref=max, floor=1e-5) | pad"),
    "delta": _sound(FRAMES + "delta | pad", FRAMES + "delta(9, interp) | pad"),
    "dither": _sound("dither | pad", "dither(amount=3) | pad"),
    "fbank": _sound(
        "fbank | pad",
        "fbank(lhotse, bins=9, low=50, high=3000, frame=8, shift=3, preemphasis=0.5, snip=yes) | pad",
        "fbank(kaldi, frame=4, shift=2, bins=7, high=-100, snip=no) | pad",
    ),
    "gain": _sound("gain(-6) | pad", "gain(db=[-12, 12]) | pad"),
    "log": _sound(FRAMES + "log | pad", FRAMES + "log(floor=1e-3, base=ten) | pad"),
    "mel": _sound(
        "mel(n_fft=64) | pad",
        "mel(librosa) | pad",
        "mel(torchaudio, bins=6, n_fft=48, win=40, hop=10, low=100, high=3500, power=1, pad=zero) | pad",
        "decode_audio(rate=16000, mono=true) | window(0.05, pad) | mel(whisper)",
        "decode_audio(rate=16000, mono=true) | window(0.05, pad) | mel(whisper_large_v3)",
    ),
    "mfcc": _sound(
        "fbank(bins=23, frame=4) | mfcc | pad", "mel(n_fft=64, bins=20) | log | mfcc(count=5, lifter=22) | pad"
    ),
    "mono": _sound("mono | pad"),
    "noise": _sound("noise(10) | pad", "noise(snr=[0, 20], p=0.5) | pad"),
    "normalize_wave": _sound(
        "normalize_wave | pad", "normalize_wave(rms, db=-20) | pad", "normalize_wave(by=standard) | pad"
    ),
    "preemphasis": _sound("preemphasis | pad", "preemphasis(by=0.5) | pad"),
    "resample": _sound(
        "resample(11025) | pad",
        "resample(rate=5000) | window(samples=30, at=random) | pad",
        "window(0.01) | resample(16000) | pad",
    ),
    "spec_augment": _sound(FRAMES + "spec_augment | pad", FRAMES + "spec_augment(1, 9, 2, 5, p=0.5, value=zero) | pad"),
    "spectrogram": _sound("spectrogram(32) | pad", "spectrogram(n_fft=60, win=40, hop=7, pad=none, power=1) | pad"),
    "trim": _sound("trim(frame=16, hop=4) | pad", "trim(20, frame=9, hop=5, ref=0.5) | pad"),
    "speed": _sound("speed | pad", "speed(factors=[0.5, 2]) | pad"),
    "stft": _sound("stft(32) | pad", "stft(n_fft=45, win=40, hop=7, pad=zero) | pad"),
    "affine": _image(
        "affine(15)",
        "affine([-10, 30], translate=[0.1, 0.2], scale=[0.5, 1.5], shear=[-5, 5, -3, 3], filter=bilinear, "
        "center=[3, 4], fill=[9, 80, 200])",
        "affine(40, translate=0.3, shear=[2, 9], fill=7)",
    ),
    "autocontrast": _image("autocontrast", "autocontrast(p=0.9)"),
    "brightness": _image("brightness(1.7)", "brightness(factor=0.3)"),
    "cast": _image("cast(f32)", "cast(i64)", "cast(bool)", "cast(f16)", "cast(bf16)", "cast(u16)"),
    "center_crop": _image("center_crop(12)", "center_crop([25, 10], fill=[1, 2, 3])"),
    "center_resized_crop": _image(
        "center_resized_crop(9)", "center_resized_crop([8, 13], ratio=0.6, filter=bicubic, antialias=false)"
    ),
    "chw": _image("chw", "chw(f32)", "chw(u16) | hflip"),
    "color_jitter": _image(
        "color_jitter(0.4)",
        "color_jitter(brightness=[0.5, 1.5], contrast=0.7, saturation=0.6, hue=0.2, p=0.7)",
        "color_jitter(0, 0, 0.5, [-0.5, 0.1])",
    ),
    "concat": ("values", "", "both = [f32s, g]", ["concat", "concat(axis=1)", "concat(axis=-1)"]),
    "contrast": _image("contrast(1.6)", "contrast(factor=0.2)"),
    "cutmix": ("fixed", "label: one_hot(10)", "image, label", ["cutmix", "cutmix(alpha=0.3, shared=true)"]),
    "cutout": _image("cutout(7)", "cutout(size=5, fill=[200, 100, 50])"),
    "decode": (
        "pngs",
        "",
        "mixed",
        [
            "decode",
            "decode(channels=1)",
            "decode(exact=true, channels=4, orient=true, bits=16)",
            "decode(channels=3, bits=8)",
        ],
    ),
    "decode_audio": (
        *WAVES,
        "i2",
        ["decode_audio | pad", "decode_audio(mono=true) | pad", "decode_audio(rate=11025) | pad"],
    ),
    "drop": ("values", "", "real", ["drop"]),
    "equalize": _image("equalize", "equalize(p=1)"),
    "erasing": _image(
        "erasing",
        "erasing(p=1, scale=[0.1, 0.5], ratio=[0.5, 2], value=[10, 20, 30])",
        "erasing(p=0.9, value=random)",
        "to_float | erasing(p=0.9, value=random)",
    ),
    "expr": _image(
        'expr("x * 0.5 + c")',
        'expr("clamp(x * p0 - p1, 0, p2) + sin(x) * exp(-x / 99) + pow(x, 0.3)", p=[2, 30.5, 255])',
    ),
    "fill": ("nulls", "", "age", ["fill", "fill(-1, valid=true)", "cast(f32) | fill(nan)"]),
    "flatten": _image("flatten", "cast(f32) | flatten"),
    "gamma": _image("gamma(2.2)", "gamma(gamma=0.4)"),
    "gather": ("values", "", "f32s", ["gather([2, 0])", "gather(indices=[1, 1, 2, 0])"]),
    "gaussian_blur": _image(
        "gaussian_blur(3)", "gaussian_blur([5, 9], sigma=[0.5, 3], p=0.6)", "gaussian_blur(7, sigma=1.5)"
    ),
    "grayscale": _image("grayscale", "grayscale(channels=3)"),
    "hflip": _image("hflip", "hflip(p=0.2)"),
    "hue": _image("hue(0.25)", "hue(factor=-0.4)"),
    "hwc": _image("hwc", "chw | hwc(f32)"),
    "invert": _image("invert", "to_float | invert"),
    "label_mixup": (*LABEL, ["label_mixup", "label_mixup(alpha=0.3, shared=true)"]),
    "label_smoothing": (*LABEL, ["one_hot(10) | label_smoothing", "label_smoothing(eps=0.2, classes=12)"]),
    "mixup": ("fixed", "", "image, label", ["mixup(labels=triple)", "mixup(0.4, labels=triple, shared=true)"]),
    "normalize": _image(
        "normalize(imagenet)",
        "normalize([120, 110, 100], [60, 50, 40], unit=255)",
        "normalize(cifar10) | chw",
        "normalize(half)",
        "normalize(0.3, std=0.2) | chw(f16)",
    ),
    "one_hot": (*LABEL, ["one_hot(10)", "one_hot(classes=13)"]),
    "pad": (*LIST, ["pad", "pad(length=9, value=-1, mask=true)", "pad(multiple=4, value=3)"]),
    "perspective": _image(
        "perspective",
        "perspective(0.8, p=1, filter=nearest, fill=[1, 2, 3])",
        "perspective(distortion_scale=0.3, p=0.9, fill=99)",
    ),
    "poison": _image(
        "poison([1, 4], 5, 200)",
        "poison(indices=[0, 2, 7], size=[4, 9], color=[255, 10, 0], x=3, y=12, alpha=0.3, clamp=[5, 250])",
    ),
    "posterize": _image("posterize(3)", "posterize(bits=5, p=0.9)"),
    "ragged": (*LIST, ["ragged", "cast(f32) | ragged"]),
    "randaugment": _image(
        "randaugment", "randaugment(num_ops=3, magnitude=20, bins=25, interpolation=bilinear, fill=[9, 8, 7])"
    ),
    "random_crop": _image(
        "random_crop(11)",
        "random_crop([12, 30], padding=[1, 2, 3, 4], fill=[5, 6, 7])",
        "random_crop([26, 9], pad_if_needed=true, fill=9)",
    ),
    "random_grayscale": _image("random_grayscale", "random_grayscale(p=0.6)"),
    "random_invert": _image("random_invert", "random_invert(p=0.9)"),
    "random_resized_crop": _image(
        "random_resized_crop(10)",
        "random_resized_crop([9, 14], scale=[0.3, 0.7], ratio=[0.5, 2], filter=lanczos, antialias=false)",
        "random_resized_crop(6, filter=bicubic)",
        "random_resized_crop(12, filter=nearest)",
        "random_resized_crop(5, filter=box)",
    ),
    "random_translate": _image("random_translate(4)", "random_translate(padding=6, fill=[50, 60, 70])"),
    "replace_label": (
        *LABEL,
        ["replace_label([3, 6], 1)", "replace_label(from=2, to=9)", "replace_label(indices=[1, 5], label=7)"],
    ),
    "reshape": ("values", "", "f32s", ["reshape([4, 3])", "reshape(shape=[2, -1, 2])"]),
    "resize": _image(
        "resize(9) | pad",
        "resize([40, 11], filter=bicubic, antialias=false)",
        "resize(12, max_size=13) | pad",
        "resize([7, 9], filter=lanczos)",
        "resize([7, 9], filter=area)",
        "resize([31, 9], filter=box)",
        "resize([5, 50], filter=nearest)",
    ),
    "rotate": _image(
        "rotate(25)",
        "rotate([10, 80], filter=bilinear, center=[4, 5], fill=[9, 90, 180])",
        "rotate(45, expand=true, fill=3) | resize([9, 9])",
    ),
    "autoaugment": _image(
        "autoaugment",
        "autoaugment(cifar10, interpolation=bilinear, fill=[9, 8, 7])",
        "autoaugment(policy=svhn, fill=5)",
    ),
    "border": _image(
        "border(3) | resize([9, 9])",
        "border([1, 2, 30, 4], mode=reflect) | resize([9, 9])",
        "border([2, 3], edge) | pad",
        "border(padding=5, mode=symmetric, mask_fill=1) | chw | pad",
        "border(4, fill=[1, 2, 3]) | pad",
    ),
    "grid_mask": _image("grid_mask", "grid_mask(step=[0.2, 0.9], ratio=0.4, p=0.9, fill=[1, 2, 3])"),
    "saturation": _image("saturation(1.8)", "saturation(factor=0.1)"),
    "scale": ("values", "", "f32s", ["scale(0.5)", "scale(factor=-2, offset=0.25)"]),
    "sharpness": _image("sharpness(1.8)", "sharpness(factor=0.2, p=0.9)"),
    "solarize": _image("solarize", "solarize(threshold=60, p=0.9)"),
    "squeeze": ("values", "", "i32s", ["squeeze", "cast(f32) | squeeze"]),
    "stack": ("values", "", "both = [f32s, g]", ["stack", "stack(axis=1)", "stack(axis=-1)"]),
    "add_noise": (
        WAVES[0],
        WAVES[1] + "; quiet = i2: gain(-9) | drop; i2: drop",
        "both = [i2, quiet]",
        ["add_noise(10) | pad", "add_noise([0, 20], p=0.5) | pad"],
    ),
    "mix_sample": (*WAVES, "i2", ["mix_sample(10) | pad", "mix_sample([0, 20], p=0.5) | pad"]),
    "reverb": (
        WAVES[0],
        WAVES[1] + "; quiet = i2: gain(-9) | drop; i2: drop",
        "both = [i2, quiet]",
        ["reverb | pad", "reverb(p=0.5, normalize=false, align=false) | pad"],
    ),
    "strings": ("values", "", "text", ["strings", "truncate(4) | strings"]),
    "to_float": _image("to_float", "cast(u16) | to_float"),
    "trivialaugment": _image("trivialaugment", "trivialaugment(bins=20, interpolation=bilinear, fill=[9, 8, 7])"),
    "truncate": (*LIST, ["truncate(3) | pad", "truncate(length=2, side=left) | ragged"]),
    "vflip": _image("vflip", "vflip(p=0.8)"),
    "window": (
        *WAVES,
        "i2",
        [
            "window(0.01) | pad",
            "window(0.01, random) | pad(mask=true)",
            "window(samples=100, at=center, short=pad)",
            "window(samples=60, start=40, short=keep) | pad",
            "window(0.012, random, error)",
        ],
    ),
}


def _operation(name):
    data, before, output, steps = STEPS[name]
    front = before.replace("; ", "\n") + "\n" if before else ""
    if data == "values":  # numbers stay; a second view for lists of inputs
        front += "g = f32s: scale(3)\n" if "[" in output else ""
        front += "".join(f"{n}: drop\n" for n in ("f16s", "bf16s", "bools", "u32", "i64", "flag") if n != output)
    for n, step in enumerate(steps):
        options = {"seed": 7 + n, "order": "random" if n else "sequential", "index": False}
        yield Case(f"{name}/{n}", data, f"{front}{output}: {step}", 7, (0, 3), options=options)


OPERATIONS = [case for name in STEPS for case in _operation(name)]

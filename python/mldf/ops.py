"""Every operation of the library as a class. Written by tools/make_operations.py from what the library says of itself.

The well-known ones are also names of :mod:`mldf` itself: ``mldf.RandomResizedCrop(224)``. Mistakes in the parameters
are reported when the object is made; whether the operation fits the field, when the loader is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Union

from .pipeline import Operation

Ints = Union[int, Sequence[int]]
Floats = Union[float, str, Sequence[float]]

__all__ = [
    "AddNoise",
    "Affine",
    "AutoAugment",
    "AutoContrast",
    "Border",
    "Brightness",
    "CHW",
    "Cast",
    "CenterCrop",
    "CenterResizedCrop",
    "Channels",
    "Clip",
    "Cmvn",
    "ColorJitter",
    "Concat",
    "Contrast",
    "CutMix",
    "Cutout",
    "Db",
    "Decode",
    "DecodeAudio",
    "DecodeVideo",
    "Delta",
    "Dither",
    "Drop",
    "Equalize",
    "Erasing",
    "Expr",
    "Fbank",
    "Fill",
    "Flatten",
    "Gain",
    "Gamma",
    "Gather",
    "GaussianBlur",
    "Grayscale",
    "GridMask",
    "HWC",
    "HorizontalFlip",
    "Hue",
    "Invert",
    "LabelMixUp",
    "LabelSmoothing",
    "Log",
    "MFCC",
    "Mel",
    "MixSample",
    "MixUp",
    "Mono",
    "Noise",
    "Normalize",
    "NormalizeWave",
    "OneHot",
    "Pad",
    "Perspective",
    "Poison",
    "Posterize",
    "Preemphasis",
    "Ragged",
    "RandAugment",
    "RandomCrop",
    "RandomGrayscale",
    "RandomInvert",
    "RandomResizedCrop",
    "RandomTranslate",
    "ReplaceLabel",
    "Resample",
    "Reshape",
    "Resize",
    "Reverb",
    "Rotate",
    "STFT",
    "Saturation",
    "Scale",
    "Sharpness",
    "Solarize",
    "SpecAugment",
    "Spectrogram",
    "Speed",
    "Squeeze",
    "Stack",
    "Strings",
    "TimeJitter",
    "TimeReverse",
    "TimeSubsample",
    "ToFloat",
    "Trim",
    "TrivialAugment",
    "Truncate",
    "VerticalFlip",
    "Window",
]


class AddNoise(Operation):
    """[recording, noise]: the noise under the recording at a signal-to-noise ratio, as torchaudio's add_noise.

    Parameters
    ----------
    snr
        Decibels of the recording over the noise; [least, most]: drawn between them.
    p
        The chance that noise is added.
    """

    name: ClassVar[str] = "add_noise"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("snr", "floats", ...), ("p", "float", 1))

    def __init__(self, snr: Floats, p: float = 1) -> None:
        super().__init__(snr, p)


class Affine(Operation):
    """Turns, moves, scales and shears the image at random.

    Parameters
    ----------
    degrees
        With the clock: x: from -x to x; [a, b]: from a to b.
    translate
        Greatest shift, as a share of [width, height]; whole pixels.
    scale
        How many times larger things become, between these.
    shear
        Degrees: x: along x from -x to x; [a, b]: along x from a to b; [a, b, c, d]: and along y from c to d.
    filter
        Between pixels; masks always take the nearest (nearest, bilinear).
    center
        What stays in its place: [x, y] in pixels, or (middle).
    fill
        What lies outside the image: a number, or one for each channel.
    mask_fill
        The same for masks: their class of what was not there.
    """

    name: ClassVar[str] = "affine"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("degrees", "floats", ...),
        ("translate", "floats", 0),
        ("scale", "floats", (1, 1)),
        ("shear", "floats", 0),
        ("filter", "choice", "nearest"),
        ("center", "floats", "middle"),
        ("fill", "floats", 0),
        ("mask_fill", "float", 0),
    )

    def __init__(
        self,
        degrees: Floats,
        translate: Floats = 0,
        scale: Floats = (1, 1),
        shear: Floats = 0,
        filter: str = "nearest",
        center: Floats = "middle",
        fill: Floats = 0,
        mask_fill: float = 0,
    ) -> None:
        super().__init__(degrees, translate, scale, shear, filter, center, fill, mask_fill)


class AutoAugment(Operation):
    """AutoAugment: one of 25 pairs of changes of colour and place, as found for ImageNet, CIFAR-10 or SVHN.

    Parameters
    ----------
    policy
        The dataset that it was found for: imagenet, cifar10 or svhn (imagenet, cifar10, svhn).
    interpolation
        For the moves: nearest or bilinear (nearest, bilinear).
    fill
        What lies outside the image: a number, or one for each channel.
    """

    name: ClassVar[str] = "autoaugment"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("policy", "choice", "imagenet"),
        ("interpolation", "choice", "nearest"),
        ("fill", "floats", 0),
    )

    def __init__(self, policy: str = "imagenet", interpolation: str = "nearest", fill: Floats = 0) -> None:
        super().__init__(policy, interpolation, fill)


class AutoContrast(Operation):
    """Stretches each colour to the whole range, with a probability.

    Parameters
    ----------
    p
        Probability.
    """

    name: ClassVar[str] = "autocontrast"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("p", "float", 0.5),)

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)


class Border(Operation):
    """Adds pixels at the sides: one colour, the outermost pixels, or the image mirrored.

    Parameters
    ----------
    padding
        Pixels on all sides, [x, y], or [left, top, right, bottom].
    mode
        Constant: `fill`; edge: the outermost pixels; reflect, symmetric: mirrored without and with the outermost
        pixels (constant, edge, reflect, symmetric).
    fill
        Of mode constant: a number, or one for each channel.
    mask_fill
        The same for masks: their class of what was not there.
    """

    name: ClassVar[str] = "border"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("padding", "ints", ...),
        ("mode", "choice", "constant"),
        ("fill", "floats", 0),
        ("mask_fill", "float", 0),
    )

    def __init__(self, padding: Ints, mode: str = "constant", fill: Floats = 0, mask_fill: float = 0) -> None:
        super().__init__(padding, mode, fill, mask_fill)


class Brightness(Operation):
    """Every colour times a factor.

    Parameters
    ----------
    factor
        0 is black, 1 the image itself, 2 twice as bright.
    """

    name: ClassVar[str] = "brightness"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("factor", "float", ...),)

    def __init__(self, factor: float) -> None:
        super().__init__(factor)


class CHW(Operation):
    """An image as channels x height x width.

    Parameters
    ----------
    dtype
        Also cast to this type; same: keep it.
    """

    name: ClassVar[str] = "chw"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("dtype", "dtype", "same"),)

    def __init__(self, dtype: Any = "same") -> None:
        super().__init__(dtype)


class Cast(Operation):
    """The same values in another element type.

    Parameters
    ----------
    dtype
        The new type: bool, u8, i64, f16, bf16, f32 ...; float to integer rounds to the nearest even and stops at
        the type's ends, integer to integer wraps.
    """

    name: ClassVar[str] = "cast"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("dtype", "dtype", ...),)

    def __init__(self, dtype: Any) -> None:
        super().__init__(dtype)


class CenterCrop(Operation):
    """The middle of the image.

    Parameters
    ----------
    size
        N x n, or [h, w]; a smaller image is padded with `fill`.
    fill
        Of the padding: a number, or one for each channel.
    mask_fill
        The same for masks: their class of what was not there.
    """

    name: ClassVar[str] = "center_crop"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("size", "ints", ...),
        ("fill", "floats", 0),
        ("mask_fill", "float", 0),
    )

    def __init__(self, size: Ints, fill: Floats = 0, mask_fill: float = 0) -> None:
        super().__init__(size, fill, mask_fill)


class CenterResizedCrop(Operation):
    """A square of `ratio` times the shorter side from the middle, resized.

    Parameters
    ----------
    size
        The result: n x n, or [h, w].
    ratio
        Side of the central square crop, as a share of the shorter side.
    filter
        How pixels are weighed; masks always take the nearest (nearest, bilinear, bicubic, area, box, lanczos).
    antialias
        Widen the filter when shrinking, as Pillow does.
    """

    name: ClassVar[str] = "center_resized_crop"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("size", "ints", ...),
        ("ratio", "float", 0.875),
        ("filter", "choice", "bilinear"),
        ("antialias", "bool", True),
    )

    def __init__(self, size: Ints, ratio: float = 0.875, filter: str = "bilinear", antialias: bool = True) -> None:
        super().__init__(size, ratio, filter, antialias)


class Channels(Operation):
    """Some of a recording's channels: (t) where it is one.

    Parameters
    ----------
    which
        Numbers of channels, from 0, in this order.
    """

    name: ClassVar[str] = "channels"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("which", "ints", ...),)

    def __init__(self, which: Ints) -> None:
        super().__init__(which)


class Clip(Operation):
    """Frames of a video, by number or by time: random, in the middle, spread evenly or fixed; with the sound of that
    time. Also of a recording by itself, and of an array's first dimension.

    Parameters
    ----------
    frames
        Frames of a clip.
    stride
        Every so many frames of the video.
    fps
        Frames a second of the clip, by the times of the video's frames; instead of stride. 0: by stride.
    start
        Where a clip begins: anywhere with equal chance, in the middle, the clips of `count` spread evenly from the
        first to the last possible frame, or at `first` (random, center, uniform, fixed, centre).
    count
        Clips of one video; more than one add an axis in front: (count, frames, ...).
    short
        A video without enough frames: its last one again, from its first one on, zeros, fewer frames, or error.
        NAME_valid says which frames there are (repeat_last, wrap, zero, drop, error).
    first
        Where a fixed clip begins: number of the frame or sample, or seconds if fps is given.
    samples
        Sound: exactly so many samples from the clip's beginning on, zeros where there are none. 0: what is heard
        while the clip's frames are shown.
    """

    name: ClassVar[str] = "clip"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("frames", "int", 0),
        ("stride", "int", 1),
        ("fps", "float", 0),
        ("start", "choice", "random"),
        ("count", "int", 1),
        ("short", "choice", "repeat_last"),
        ("first", "float", 0),
        ("samples", "int", 0),
    )

    def __init__(
        self,
        frames: int = 0,
        stride: int = 1,
        fps: float = 0,
        start: str = "random",
        count: int = 1,
        short: str = "repeat_last",
        first: float = 0,
        samples: int = 0,
    ) -> None:
        super().__init__(frames, stride, fps, start, count, short, first, samples)


class Cmvn(Operation):
    """Each band of a spectrogram with mean 0 and variance 1 over the value's frames.

    Parameters
    ----------
    variance
        Also divides by the standard deviation (of the frames, not n - 1).
    """

    name: ClassVar[str] = "cmvn"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("variance", "bool", True),)

    def __init__(self, variance: bool = True) -> None:
        super().__init__(variance)


class ColorJitter(Operation):
    """Random brightness, contrast, saturation and hue, in random order.

    Parameters
    ----------
    brightness
        X: a factor from max(0, 1 - x) to 1 + x; or [from, to].
    contrast
        As brightness.
    saturation
        As brightness.
    hue
        X: a turn from -x to x of the circle; or [from, to].
    p
        Probability.
    """

    name: ClassVar[str] = "color_jitter"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("brightness", "floats", 0),
        ("contrast", "floats", 0),
        ("saturation", "floats", 0),
        ("hue", "floats", 0),
        ("p", "float", 1),
    )

    def __init__(
        self, brightness: Floats = 0, contrast: Floats = 0, saturation: Floats = 0, hue: Floats = 0, p: float = 1
    ) -> None:
        super().__init__(brightness, contrast, saturation, hue, p)


class Concat(Operation):
    """Several inputs one after the other along a dimension; numbers make a list.

    Parameters
    ----------
    axis
        Which dimension; -1 is the last.
    """

    name: ClassVar[str] = "concat"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("axis", "int", 0),)

    def __init__(self, axis: int = 0) -> None:
        super().__init__(axis)


class Contrast(Operation):
    """Blends with the image's mean gray.

    Parameters
    ----------
    factor
        0 is the image's mean gray, 1 the image itself.
    """

    name: ClassVar[str] = "contrast"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("factor", "float", ...),)

    def __init__(self, factor: float) -> None:
        super().__init__(factor)


class CutMix(Operation):
    """A box of the partner's image (and mask) in the sample's; labels are mixed by what the box leaves.

    Parameters
    ----------
    alpha
        Lambda is drawn from Beta(alpha, alpha); above 0.
    labels
        Vector: labels are vectors of floats and are mixed; triple: a whole number becomes f32 [label, partner's
        label, lambda] (vector, triple).
    shared
        One draw for a sample and its partner: that of the even position of the epoch.
    """

    name: ClassVar[str] = "cutmix"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("alpha", "float", 1),
        ("labels", "choice", "vector"),
        ("shared", "bool", False),
    )

    def __init__(self, alpha: float = 1, labels: str = "vector", shared: bool = False) -> None:
        super().__init__(alpha, labels, shared)


class Cutout(Operation):
    """Paints a square at a random place.

    Parameters
    ----------
    size
        Side of the square, pixels; at most the image's.
    fill
        Its colour: a number, or one for each channel.
    """

    name: ClassVar[str] = "cutout"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("size", "int", ...), ("fill", "floats", 0))

    def __init__(self, size: int, fill: Floats = 0) -> None:
        super().__init__(size, fill)


class Db(Operation):
    """Decibels, as torchaudio's AmplitudeToDB and librosa's power_to_db; the greatest is that of the whole value.

    Parameters
    ----------
    top
        Nothing is more than so many decibels below the value's greatest; 0: no limit.
    of
        10 log10 x of powers, 20 log10 x of magnitudes (power, magnitude).
    ref
        What is 0 dB: one, or the value's greatest (one, max).
    floor
        What is less is taken as this.
    """

    name: ClassVar[str] = "db"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("top", "float", 0),
        ("of", "choice", "power"),
        ("ref", "choice", "one"),
        ("floor", "float", 1e-10),
    )

    def __init__(self, top: float = 0, of: str = "power", ref: str = "one", floor: float = 1e-10) -> None:
        super().__init__(top, of, ref, floor)


class Decode(Operation):
    """A stored image becomes pixels.

    Parameters
    ----------
    exact
        Never decode a JPEG at 1/2, 1/4 or 1/8 of its size before a resize.
    channels
        1 gray, 3 RGB, 4 RGB + alpha; 0: as stored when all are alike, else 3; None: as the dataset was opened.
    orient
        Turn and mirror as the EXIF orientation says; None: as the dataset was opened.
    bits
        8 or 16; 0: as stored when all are alike, else 8.
    chroma
        Fused: resize the planes of a JPEG or YUV image and make colours of the result; faster, and not the same to
        the last bit (exact, fused).
    """

    name: ClassVar[str] = "decode"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("exact", "bool", False),
        ("channels", "int", None),
        ("orient", "bool", None),
        ("bits", "int", 0),
        ("chroma", "choice", "exact"),
    )

    def __init__(
        self,
        exact: bool = False,
        channels: int | None = None,
        orient: bool | None = None,
        bits: int = 0,
        chroma: str = "exact",
    ) -> None:
        super().__init__(exact, channels, orient, bits, chroma)


class DecodeAudio(Operation):
    """A stored recording becomes float: (t), or (channels, t).

    Parameters
    ----------
    mono
        One channel: the mean of all.
    rate
        Samples a second: all recordings are resampled to this rate, as `resample` does it; 0: they keep theirs,
        which must be one.
    portable
        Lossy codecs: the same bits on every CPU of an architecture, by the libraries' generic code; slower.
    opus
        Who decodes Opus: libopus, or FFmpeg, which is faster and gives other last bits (libopus, ffmpeg).
    """

    name: ClassVar[str] = "decode_audio"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("mono", "bool", False),
        ("rate", "int", 0),
        ("portable", "bool", False),
        ("opus", "choice", "libopus"),
    )

    def __init__(self, mono: bool = False, rate: int = 0, portable: bool = False, opus: str = "libopus") -> None:
        super().__init__(mono, rate, portable, opus)


class DecodeVideo(Operation):
    """A stored video becomes frames: (t, h, w, c).

    Parameters
    ----------
    exact
        Never decode JPEG frames at 1/2, 1/4 or 1/8 of their size before a resize.
    channels
        1 gray, 3 RGB, 4 RGB + alpha; 0: as stored.
    bits
        8 or 16; 0: as stored.
    matrix
        The colours of a compressed video that does not say which: BT.601, BT.709, or auto, which is BT.709 from 720
        lines on (bt601, auto, bt709).
    """

    name: ClassVar[str] = "decode_video"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("exact", "bool", False),
        ("channels", "int", 0),
        ("bits", "int", 0),
        ("matrix", "choice", "bt601"),
    )

    def __init__(self, exact: bool = False, channels: int = 0, bits: int = 0, matrix: str = "bt601") -> None:
        super().__init__(exact, channels, bits, matrix)


class Delta(Operation):
    """How a spectrogram changes: the slope of each band over neighbouring frames.

    Parameters
    ----------
    width
        Frames of the regression, odd (librosa's default is 9).
    edges
        Replicate: the end frames go on, as in torchaudio; interp: the slope of the first and last `width` frames,
        as in librosa (replicate, interp).
    """

    name: ClassVar[str] = "delta"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("width", "int", 5), ("edges", "choice", "replicate"))

    def __init__(self, width: int = 5, edges: str = "replicate") -> None:
        super().__init__(width, edges)


class Dither(Operation):
    """Adds white noise of a fixed strength, as Kaldi's dither.

    Parameters
    ----------
    amount
        Standard deviation, in steps of 16 bits (1 / 32768).
    """

    name: ClassVar[str] = "dither"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("amount", "float", 1),)

    def __init__(self, amount: float = 1) -> None:
        super().__init__(amount)


class Drop(Operation):
    """No output; what it was may still be an input of others."""

    name: ClassVar[str] = "drop"

    def __init__(self) -> None:
        super().__init__()


class Equalize(Operation):
    """Spreads each colour's histogram evenly, with a probability.

    Parameters
    ----------
    p
        Probability.
    """

    name: ClassVar[str] = "equalize"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("p", "float", 0.5),)

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)


class Erasing(Operation):
    """Paints a rectangle of random size at a random place, with a probability.

    Parameters
    ----------
    p
        Probability.
    scale
        Share of the image's area, between these.
    ratio
        Height / width, between these.
    value
        A number, or one for each channel; random: noise, normal for f32, all values alike for integers (random).
    """

    name: ClassVar[str] = "erasing"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("p", "float", 0.5),
        ("scale", "floats", (0.02, 0.33)),
        ("ratio", "floats", (0.3, 3.3)),
        ("value", "floats", 0),
    )

    def __init__(
        self, p: float = 0.5, scale: Floats = (0.02, 0.33), ratio: Floats = (0.3, 3.3), value: Floats = 0
    ) -> None:
        super().__init__(p, scale, ratio, value)


class Expr(Operation):
    """An arithmetic expression over each element, in f32: expr("clamp(x * 2 - 1, 0, 1)").

    Parameters
    ----------
    text
        Over x, the element, and c, an image's channel: + - * / < <= == && || ! ?: if min max clamp abs sqrt floor
        ceil round exp log log2 log10 sin cos tan tanh pow atan2 pi.
    p
        Numbers that the text calls p0, p1 ...
    """

    name: ClassVar[str] = "expr"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("text", "text", ...), ("p", "floats", ()))

    def __init__(self, text: str, p: Floats = ()) -> None:
        super().__init__(text, p)


class Fbank(Operation):
    """Kaldi's log mel features of a recording: (frames, bands).

    Parameters
    ----------
    preset
        Kaldi: numbers as 16-bit integers (x 32768), only frames inside the recording, bands up to half the rate;
        lhotse: numbers as they are, n / shift frames, bands up to half the rate - 400 Hz (kaldi, lhotse).
    bins
        Mel bands (Kaldi's own default is 23).
    low
        Hz: the lower end of the lowest band.
    high
        Hz: the upper end of the highest band; negative: below half the rate; 0: the preset's.
    frame
        Milliseconds of a frame.
    shift
        Milliseconds from one frame to the next.
    preemphasis
        X[i] - preemphasis * x[i - 1].
    snip
        Yes: only frames inside the recording; no: one for every shift, the ends mirrored (preset, yes, no).
    rate
        Samples a second of a value that has no rate; does not resample.
    """

    name: ClassVar[str] = "fbank"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("preset", "choice", "kaldi"),
        ("bins", "int", 80),
        ("low", "float", 20),
        ("high", "float", 0),
        ("frame", "float", 25),
        ("shift", "float", 10),
        ("preemphasis", "float", 0.97),
        ("snip", "choice", "preset"),
        ("rate", "int", 0),
    )

    def __init__(
        self,
        preset: str = "kaldi",
        bins: int = 80,
        low: float = 20,
        high: float = 0,
        frame: float = 25,
        shift: float = 10,
        preemphasis: float = 0.97,
        snip: str = "preset",
        rate: int = 0,
    ) -> None:
        super().__init__(preset, bins, low, high, frame, shift, preemphasis, snip, rate)


class Fill(Operation):
    """A constant for nulls; steps before it are left out for them, those after it see the constant.

    Parameters
    ----------
    value
        Every element of what a null becomes (where lengths vary, an empty value): a number, one for each channel of
        an image, or a word (nan).
    valid
        One more output NAME_valid: false where the value was null.
    """

    name: ClassVar[str] = "fill"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("value", "floats", 0), ("valid", "bool", False))

    def __init__(self, value: Floats = 0, valid: bool = False) -> None:
        super().__init__(value, valid)


class Flatten(Operation):
    """All elements in one dimension."""

    name: ClassVar[str] = "flatten"

    def __init__(self) -> None:
        super().__init__()


class Gain(Operation):
    """A recording louder or softer.

    Parameters
    ----------
    db
        Decibels; [least, most]: drawn between them for each sample.
    """

    name: ClassVar[str] = "gain"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("db", "floats", ...),)

    def __init__(self, db: Floats) -> None:
        super().__init__(db)


class Gamma(Operation):
    """Every colour, of 0..1, to a power.

    Parameters
    ----------
    gamma
        The exponent: above 1 darker, below 1 lighter.
    """

    name: ClassVar[str] = "gamma"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("gamma", "float", ...),)

    def __init__(self, gamma: float) -> None:
        super().__init__(gamma)


class Gather(Operation):
    """Some places of an array's first dimension.

    Parameters
    ----------
    indices
        Which places of the first dimension, in this order.
    """

    name: ClassVar[str] = "gather"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("indices", "ints", ...),)

    def __init__(self, indices: Ints) -> None:
        super().__init__(indices)


class GaussianBlur(Operation):
    """Gaussian blur of random strength.

    Parameters
    ----------
    kernel_size
        Taps, odd: n both ways, or [across, down].
    sigma
        Standard deviation in pixels, or between [from, to].
    p
        Probability.
    """

    name: ClassVar[str] = "gaussian_blur"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("kernel_size", "ints", ...),
        ("sigma", "floats", (0.1, 2.0)),
        ("p", "float", 1),
    )

    def __init__(self, kernel_size: Ints, sigma: Floats = (0.1, 2.0), p: float = 1) -> None:
        super().__init__(kernel_size, sigma, p)


class Grayscale(Operation):
    """0.2989 r + 0.587 g + 0.114 b; always (random_grayscale: sometimes).

    Parameters
    ----------
    channels
        Colours of the output, 1 or 3; alpha comes on top when the input has it.
    """

    name: ClassVar[str] = "grayscale"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("channels", "int", 1),)

    def __init__(self, channels: int = 1) -> None:
        super().__init__(channels)


class GridMask(Operation):
    """Paints squares on a grid that begins at a random place, with a probability.

    Parameters
    ----------
    step
        Of the grid, as a share of the shorter side; [a, b]: drawn between these.
    ratio
        Side of a square, as a share of the step.
    p
        Probability.
    fill
        The squares' colour: a number, or one for each channel.
    """

    name: ClassVar[str] = "grid_mask"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("step", "floats", 0.5),
        ("ratio", "float", 0.6),
        ("p", "float", 0.5),
        ("fill", "floats", 0),
    )

    def __init__(self, step: Floats = 0.5, ratio: float = 0.6, p: float = 0.5, fill: Floats = 0) -> None:
        super().__init__(step, ratio, p, fill)


class HWC(Operation):
    """An image as height x width x channels, which it is unless chw comes before.

    Parameters
    ----------
    dtype
        Also cast to this type; same: keep it.
    """

    name: ClassVar[str] = "hwc"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("dtype", "dtype", "same"),)

    def __init__(self, dtype: Any = "same") -> None:
        super().__init__(dtype)


class HorizontalFlip(Operation):
    """Mirrors left and right with probability p.

    Parameters
    ----------
    p
        Probability.
    """

    name: ClassVar[str] = "hflip"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("p", "float", 0.5),)

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)


class Hue(Operation):
    """Turns all hues by the same angle.

    Parameters
    ----------
    factor
        Part of the circle of hues; 0.5 gives the opposite hues.
    """

    name: ClassVar[str] = "hue"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("factor", "float", ...),)

    def __init__(self, factor: float) -> None:
        super().__init__(factor)


class Invert(Operation):
    """White minus the value; always (random_invert: sometimes)."""

    name: ClassVar[str] = "invert"

    def __init__(self) -> None:
        super().__init__()


class LabelMixUp(Operation):
    """Mixup for labels that are whole numbers: they become f32 [label, partner's label, lambda].

    Parameters
    ----------
    alpha
        Lambda is drawn from Beta(alpha, alpha); above 0.
    shared
        One draw for a sample and its partner: that of the even position of the epoch.
    """

    name: ClassVar[str] = "label_mixup"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("alpha", "float", 1), ("shared", "bool", False))

    def __init__(self, alpha: float = 1, shared: bool = False) -> None:
        super().__init__(alpha, shared)


class LabelSmoothing(Operation):
    """Y * (1 - eps) + eps / classes, of a label or of a vector such as one_hot and mixup give; f32.

    Parameters
    ----------
    eps
        The part that all classes share.
    classes
        For labels that are whole numbers: how many classes there are; a vector knows.
    """

    name: ClassVar[str] = "label_smoothing"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("eps", "float", 0.1), ("classes", "int", 0))

    def __init__(self, eps: float = 0.1, classes: int = 0) -> None:
        super().__init__(eps, classes)


class Log(Operation):
    """The logarithm of every element.

    Parameters
    ----------
    floor
        What is less is taken as this.
    base
        Of the logarithm: e, two or ten (e, two, ten).
    """

    name: ClassVar[str] = "log"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("floor", "float", 1e-10), ("base", "choice", "e"))

    def __init__(self, floor: float = 1e-10, base: str = "e") -> None:
        super().__init__(floor, base)


class MFCC(Operation):
    """Cepstral coefficients: the orthonormal DCT-II over the bands of a log or dB spectrogram.

    Parameters
    ----------
    count
        Coefficients, from the 0th.
    lifter
        Coefficient i times 1 + lifter / 2 sin(pi i / lifter), as Kaldi (22) has it; 0: none.
    """

    name: ClassVar[str] = "mfcc"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("count", "int", 13), ("lifter", "float", 0))

    def __init__(self, count: int = 13, lifter: float = 0) -> None:
        super().__init__(count, lifter)


class Mel(Operation):
    """A recording's spectrum in mel bands: (bands, frames), as torchaudio, librosa or Whisper has it.

    Parameters
    ----------
    preset
        Whose definition: torchaudio's MelSpectrogram (n_fft 400, hop 200, HTK), librosa's melspectrogram (2048,
        512, Slaney), or Whisper's log-mel input (torchaudio, librosa, whisper, whisper_large_v3).
    bins
        Mel bands; 0: the preset's (128; whisper 80).
    n_fft
        Points of the transform; 0: the preset's.
    win
        Samples of the Hann window; 0: n_fft.
    hop
        Samples from one frame to the next; 0: the preset's (torchaudio: half the window).
    low
        Hz: the lower end of the lowest band.
    high
        Hz: the upper end of the highest band; 0: half the rate.
    power
        1: bands of magnitudes; 2: of their squares.
    pad
        The ends of the recording, as in spectrogram (preset, reflect, zero, none).
    rate
        Samples a second of a value that has no rate; does not resample.
    """

    name: ClassVar[str] = "mel"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("preset", "choice", "torchaudio"),
        ("bins", "int", 0),
        ("n_fft", "int", 0),
        ("win", "int", 0),
        ("hop", "int", 0),
        ("low", "float", 0),
        ("high", "float", 0),
        ("power", "int", 2),
        ("pad", "choice", "preset"),
        ("rate", "int", 0),
    )

    def __init__(
        self,
        preset: str = "torchaudio",
        bins: int = 0,
        n_fft: int = 0,
        win: int = 0,
        hop: int = 0,
        low: float = 0,
        high: float = 0,
        power: int = 2,
        pad: str = "preset",
        rate: int = 0,
    ) -> None:
        super().__init__(preset, bins, n_fft, win, hop, low, high, power, pad, rate)


class MixSample(Operation):
    """Another sample's recording under this one at a signal-to-noise ratio: its partner's, as in mixup.

    Parameters
    ----------
    snr
        Decibels of the recording over the noise; [least, most]: drawn between them.
    p
        The chance that noise is added.
    """

    name: ClassVar[str] = "mix_sample"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("snr", "floats", ...), ("p", "float", 1))

    def __init__(self, snr: Floats, p: float = 1) -> None:
        super().__init__(snr, p)


class MixUp(Operation):
    """Lambda of a sample and 1 - lambda of its partner, images and labels alike.

    Parameters
    ----------
    alpha
        Lambda is drawn from Beta(alpha, alpha); above 0.
    labels
        Vector: labels are vectors of floats and are mixed; triple: a whole number becomes f32 [label, partner's
        label, lambda] (vector, triple).
    shared
        One draw for a sample and its partner: that of the even position of the epoch.
    """

    name: ClassVar[str] = "mixup"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("alpha", "float", 1),
        ("labels", "choice", "vector"),
        ("shared", "bool", False),
    )

    def __init__(self, alpha: float = 1, labels: str = "vector", shared: bool = False) -> None:
        super().__init__(alpha, labels, shared)


class Mono(Operation):
    """The mean of a recording's channels: (t)."""

    name: ClassVar[str] = "mono"

    def __init__(self) -> None:
        super().__init__()


class Noise(Operation):
    """Adds white noise at a signal-to-noise ratio.

    Parameters
    ----------
    snr
        Decibels of the recording over the noise; [least, most]: drawn between them.
    p
        The chance that noise is added.
    """

    name: ClassVar[str] = "noise"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("snr", "floats", ...), ("p", "float", 1))

    def __init__(self, snr: Floats, p: float = 1) -> None:
        super().__init__(snr, p)


class Normalize(Operation):
    """(x - mean) / std for each channel, u8 and u16 scaled to 0..1 first; gives f32.

    Parameters
    ----------
    mean
        Mean of each channel, or one for all; the words mean the mean and std of that data set (half: 0.5 and 0.5)
        (imagenet, cifar10, half).
    std
        Standard deviation of each channel, or one for all; preset: the one that belongs to mean's word (preset).
    unit
        What mean and std are given in: 1 when white is 1.0, 255 when white is 255; f32 values are taken as they
        are.
    """

    name: ClassVar[str] = "normalize"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("mean", "floats", ...),
        ("std", "floats", "preset"),
        ("unit", "int", 1),
    )

    def __init__(self, mean: Floats, std: Floats = "preset", unit: int = 1) -> None:
        super().__init__(mean, std, unit)


class NormalizeWave(Operation):
    """A recording at a given level: by its peak, its root mean square, or its mean and variance.

    Parameters
    ----------
    by
        The greatest magnitude, or the root mean square, becomes `db`; standard: mean 0 and variance 1 ((x - mean) /
        sqrt(variance + 1e-7), as wav2vec 2.0) (peak, rms, standard).
    db
        Decibels of full scale, for peak and rms.
    """

    name: ClassVar[str] = "normalize_wave"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("by", "choice", "peak"), ("db", "float", 0))

    def __init__(self, by: str = "peak", db: float = 0) -> None:
        super().__init__(by, db)


class OneHot(Operation):
    """A label as an f32 vector: 1 at its place, 0 elsewhere.

    Parameters
    ----------
    classes
        Length of the vector; labels are 0 to classes - 1.
    """

    name: ClassVar[str] = "one_hot"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("classes", "int", ...),)

    def __init__(self, classes: int) -> None:
        super().__init__(classes)


class Pad(Operation):
    """A batch of values of different lengths as one array, filled up at their ends (images of different sizes: at the
    right and below, so that boxes and points stay right); last step of an output.

    Parameters
    ----------
    length
        What every sample is filled up to; a longer one is an error (truncate first); 0: the longest of the batch.
        Images: n for both sides, or [h, w]; clips: n for the frames, or [t, h, w].
    value
        What is filled in.
    mask
        One more output NAME_mask: true where there is data.
    multiple
        The longest of the batch is rounded up to a multiple of this; of images, both sides.
    """

    name: ClassVar[str] = "pad"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("length", "ints", 0),
        ("value", "float", 0),
        ("mask", "bool", False),
        ("multiple", "int", 1),
    )

    def __init__(self, length: Ints = 0, value: float = 0, mask: bool = False, multiple: int = 1) -> None:
        super().__init__(length, value, mask, multiple)


class Perspective(Operation):
    """Looks at the image from a random side, with a probability.

    Parameters
    ----------
    distortion_scale
        How far corners move inwards, as a share of half the sides.
    p
        Probability.
    filter
        Between pixels; masks always take the nearest (nearest, bilinear).
    fill
        What lies outside the image: a number, or one for each channel.
    mask_fill
        The same for masks: their class of what was not there.
    """

    name: ClassVar[str] = "perspective"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("distortion_scale", "float", 0.5),
        ("p", "float", 0.5),
        ("filter", "choice", "bilinear"),
        ("fill", "floats", 0),
        ("mask_fill", "float", 0),
    )

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        filter: str = "bilinear",
        fill: Floats = 0,
        mask_fill: float = 0,
    ) -> None:
        super().__init__(distortion_scale, p, filter, fill, mask_fill)


class Poison(Operation):
    """Blends a rectangle of one colour into the images of certain samples.

    Parameters
    ----------
    indices
        The samples that are marked, by their index in the dataset.
    size
        Of the rectangle: n x n, or [h, w]; cut at the sides.
    color
        A number, or one for each channel.
    x
        Pixels from the left to the rectangle.
    y
        Pixels from the top to the rectangle.
    alpha
        Image * (1 - alpha) + color * alpha; integers to the nearest.
    clamp
        The result is held between these two; otherwise integers in their type's range, floats not at all.
    """

    name: ClassVar[str] = "poison"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("indices", "ints", ...),
        ("size", "ints", ...),
        ("color", "floats", ...),
        ("x", "int", 0),
        ("y", "int", 0),
        ("alpha", "float", 1),
        ("clamp", "floats", ()),
    )

    def __init__(
        self, indices: Ints, size: Ints, color: Floats, x: int = 0, y: int = 0, alpha: float = 1, clamp: Floats = ()
    ) -> None:
        super().__init__(indices, size, color, x, y, alpha, clamp)


class Posterize(Operation):
    """Fewer levels of each colour, with a probability.

    Parameters
    ----------
    bits
        How many of the highest bits remain.
    p
        Probability.
    """

    name: ClassVar[str] = "posterize"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("bits", "int", ...), ("p", "float", 0.5))

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(bits, p)


class Preemphasis(Operation):
    """A recording with its low tones reduced, as torchaudio's preemphasis.

    Parameters
    ----------
    by
        X[i] - by * x[i - 1]; the first sample stays.
    """

    name: ClassVar[str] = "preemphasis"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("by", "float", 0.97),)

    def __init__(self, by: float = 0.97) -> None:
        super().__init__(by)


class Ragged(Operation):
    """A batch of values of different lengths one after the other, and where each begins; last step of an output."""

    name: ClassVar[str] = "ragged"

    def __init__(self) -> None:
        super().__init__()


class RandAugment(Operation):
    """RandAugment: num_ops of fourteen changes of colour and place, by chance, all of one magnitude.

    Parameters
    ----------
    num_ops
        How many changes, one after the other.
    magnitude
        How strong they are: 0 to bins - 1.
    bins
        How many magnitudes there are.
    interpolation
        For the moves: nearest or bilinear (nearest, bilinear).
    fill
        What lies outside the image: a number, or one for each channel.
    """

    name: ClassVar[str] = "randaugment"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("num_ops", "int", 2),
        ("magnitude", "int", 9),
        ("bins", "int", 31),
        ("interpolation", "choice", "nearest"),
        ("fill", "floats", 0),
    )

    def __init__(
        self, num_ops: int = 2, magnitude: int = 9, bins: int = 31, interpolation: str = "nearest", fill: Floats = 0
    ) -> None:
        super().__init__(num_ops, magnitude, bins, interpolation, fill)


class RandomCrop(Operation):
    """A window at a random place, optionally of the padded image.

    Parameters
    ----------
    size
        N x n, or [h, w].
    padding
        On all sides, [x, y], or [left, top, right, bottom].
    pad_if_needed
        Pad images that are smaller than the crop.
    fill
        Of the padding: a number, or one for each channel.
    mask_fill
        The same for masks: their class of what was not there.
    """

    name: ClassVar[str] = "random_crop"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("size", "ints", ...),
        ("padding", "ints", 0),
        ("pad_if_needed", "bool", False),
        ("fill", "floats", 0),
        ("mask_fill", "float", 0),
    )

    def __init__(
        self, size: Ints, padding: Ints = 0, pad_if_needed: bool = False, fill: Floats = 0, mask_fill: float = 0
    ) -> None:
        super().__init__(size, padding, pad_if_needed, fill, mask_fill)


class RandomGrayscale(Operation):
    """Gray in all three colours, with a probability.

    Parameters
    ----------
    p
        Probability.
    """

    name: ClassVar[str] = "random_grayscale"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("p", "float", 0.1),)

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)


class RandomInvert(Operation):
    """White minus the value, with a probability.

    Parameters
    ----------
    p
        Probability.
    """

    name: ClassVar[str] = "random_invert"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("p", "float", 0.5),)

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)


class RandomResizedCrop(Operation):
    """A random window of random size and ratio, resized.

    Parameters
    ----------
    size
        The result: n x n, or [h, w].
    scale
        Share of the image's area, between these.
    ratio
        Width / height of the crop, between these.
    filter
        How pixels are weighed; masks always take the nearest (nearest, bilinear, bicubic, area, box, lanczos).
    antialias
        Widen the filter when shrinking, as Pillow does.
    """

    name: ClassVar[str] = "random_resized_crop"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("size", "ints", ...),
        ("scale", "floats", (0.08, 1.0)),
        ("ratio", "floats", (0.75, 1.3333333333333333)),
        ("filter", "choice", "bilinear"),
        ("antialias", "bool", True),
    )

    def __init__(
        self,
        size: Ints,
        scale: Floats = (0.08, 1.0),
        ratio: Floats = (0.75, 1.3333333333333333),
        filter: str = "bilinear",
        antialias: bool = True,
    ) -> None:
        super().__init__(size, scale, ratio, filter, antialias)


class RandomTranslate(Operation):
    """Moves the image by up to `padding` pixels each way; its size stays.

    Parameters
    ----------
    padding
        Pixels: the greatest shift in each direction.
    fill
        What comes in at the sides: a number, or one for each channel.
    mask_fill
        The same for masks: their class of what was not there.
    """

    name: ClassVar[str] = "random_translate"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("padding", "int", ...),
        ("fill", "floats", 0),
        ("mask_fill", "float", 0),
    )

    def __init__(self, padding: int, fill: Floats = 0, mask_fill: float = 0) -> None:
        super().__init__(padding, fill, mask_fill)


class ReplaceLabel(Operation):
    """Other whole numbers for some, labels or the classes of a mask; or for all of certain samples.

    Parameters
    ----------
    from_
        The label, or labels, that are replaced.
    to
        What they become.
    indices
        Instead of from and to: the samples whose labels are all replaced, by their index in the dataset.
    label
        What those become.
    """

    name: ClassVar[str] = "replace_label"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("from", "ints", ()),
        ("to", "int", None),
        ("indices", "ints", ()),
        ("label", "int", None),
    )

    def __init__(self, from_: Ints = (), to: int | None = None, indices: Ints = (), label: int | None = None) -> None:
        super().__init__(from_, to, indices, label)


class Resample(Operation):
    """A recording at another sampling rate: torchaudio's windowed sinc, n * rate / from samples, rounded up.

    Parameters
    ----------
    rate
        Samples a second that come out.
    from_
        Samples a second of a value that has no rate.
    """

    name: ClassVar[str] = "resample"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("rate", "int", ...), ("from", "int", 0))

    def __init__(self, rate: int, from_: int = 0) -> None:
        super().__init__(rate, from_)


class Reshape(Operation):
    """The same elements in other dimensions.

    Parameters
    ----------
    shape
        The new dimensions; one may be -1: what is left.
    """

    name: ClassVar[str] = "reshape"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("shape", "ints", ...),)

    def __init__(self, shape: Ints) -> None:
        super().__init__(shape)


class Resize(Operation):
    """Changes the size; antialiased.

    Parameters
    ----------
    size
        N: the shorter side becomes n; [h, w]: exactly that.
    filter
        How pixels are weighed; masks always take the nearest (nearest, bilinear, bicubic, area, box, lanczos).
    antialias
        Widen the filter when shrinking, as Pillow does.
    max_size
        With one n: the longer side is at most this; 0: any.
    """

    name: ClassVar[str] = "resize"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("size", "ints", ...),
        ("filter", "choice", "bilinear"),
        ("antialias", "bool", True),
        ("max_size", "int", 0),
    )

    def __init__(self, size: Ints, filter: str = "bilinear", antialias: bool = True, max_size: int = 0) -> None:
        super().__init__(size, filter, antialias, max_size)


class Reverb(Operation):
    """[recording, impulse response]: the recording as it sounds in that room, as long as before.

    Parameters
    ----------
    p
        The chance that it is done.
    normalize
        The impulse response divided by its root sum of squares.
    align
        Begin where the impulse response is loudest, so that the sound stays where it was in time.
    """

    name: ClassVar[str] = "reverb"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("p", "float", 1),
        ("normalize", "bool", True),
        ("align", "bool", True),
    )

    def __init__(self, p: float = 1, normalize: bool = True, align: bool = True) -> None:
        super().__init__(p, normalize, align)


class Rotate(Operation):
    """Turns the image by a random angle.

    Parameters
    ----------
    degrees
        Against the clock: x: from -x to x; [a, b]: from a to b.
    filter
        Between pixels; masks always take the nearest (nearest, bilinear).
    expand
        The result is as large as the turned image.
    center
        What stays in its place: [x, y] in pixels, or (middle).
    fill
        What lies outside the image: a number, or one for each channel.
    mask_fill
        The same for masks: their class of what was not there.
    """

    name: ClassVar[str] = "rotate"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("degrees", "floats", ...),
        ("filter", "choice", "nearest"),
        ("expand", "bool", False),
        ("center", "floats", "middle"),
        ("fill", "floats", 0),
        ("mask_fill", "float", 0),
    )

    def __init__(
        self,
        degrees: Floats,
        filter: str = "nearest",
        expand: bool = False,
        center: Floats = "middle",
        fill: Floats = 0,
        mask_fill: float = 0,
    ) -> None:
        super().__init__(degrees, filter, expand, center, fill, mask_fill)


class STFT(Operation):
    """Short-time Fourier transform of a recording: complex (bins, frames), as torch.stft has it.

    Parameters
    ----------
    n_fft
        Points of the transform: a product of 2, 3 and 5.
    win
        Samples of the Hann window; 0: n_fft.
    hop
        Samples from one frame to the next; 0: half the window.
    pad
        The first frame is centred on the first sample, and the ends are reflected or filled with zeros; or there
        are only frames that lie inside the recording (reflect, zero, none).
    """

    name: ClassVar[str] = "stft"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("n_fft", "int", 400),
        ("win", "int", 0),
        ("hop", "int", 0),
        ("pad", "choice", "reflect"),
    )

    def __init__(self, n_fft: int = 400, win: int = 0, hop: int = 0, pad: str = "reflect") -> None:
        super().__init__(n_fft, win, hop, pad)


class Saturation(Operation):
    """Blends with the gray image.

    Parameters
    ----------
    factor
        0 is the gray image, 1 the image itself.
    """

    name: ClassVar[str] = "saturation"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("factor", "float", ...),)

    def __init__(self, factor: float) -> None:
        super().__init__(factor)


class Scale(Operation):
    """X * factor + offset in f32, for images and any array of numbers.

    Parameters
    ----------
    factor
        What each element is multiplied by.
    offset
        What is added then.
    """

    name: ClassVar[str] = "scale"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("factor", "float", ...), ("offset", "float", 0))

    def __init__(self, factor: float, offset: float = 0) -> None:
        super().__init__(factor, offset)


class Sharpness(Operation):
    """Blends with the smoothed image, with a probability.

    Parameters
    ----------
    factor
        0 is smooth, 1 the image itself, 2 sharper.
    p
        Probability.
    """

    name: ClassVar[str] = "sharpness"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("factor", "float", ...), ("p", "float", 0.5))

    def __init__(self, factor: float, p: float = 0.5) -> None:
        super().__init__(factor, p)


class Solarize(Operation):
    """Inverts what is as bright as a threshold, with a probability.

    Parameters
    ----------
    threshold
        Values from here on are inverted; in the type's own values (u16: default 32768, f32: 0.5).
    p
        Probability.
    """

    name: ClassVar[str] = "solarize"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("threshold", "float", 128), ("p", "float", 0.5))

    def __init__(self, threshold: float = 128, p: float = 0.5) -> None:
        super().__init__(threshold, p)


class SpecAugment(Operation):
    """Masks stretches of time and of frequency in a spectrogram, as torchaudio's SpecAugment.

    Parameters
    ----------
    time_masks
        How many stretches of time.
    time
        Each has fewer frames than this.
    freq_masks
        How many stretches of frequency.
    freq
        Each has fewer bands than this.
    p
        No mask is longer than this part of the frames, or of the bands.
    value
        What masks are filled with: zero, or the value's mean (zero, mean).
    """

    name: ClassVar[str] = "spec_augment"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("time_masks", "int", 2),
        ("time", "int", 100),
        ("freq_masks", "int", 2),
        ("freq", "int", 27),
        ("p", "float", 1),
        ("value", "choice", "mean"),
    )

    def __init__(
        self,
        time_masks: int = 2,
        time: int = 100,
        freq_masks: int = 2,
        freq: int = 27,
        p: float = 1,
        value: str = "mean",
    ) -> None:
        super().__init__(time_masks, time, freq_masks, freq, p, value)


class Spectrogram(Operation):
    """The power or magnitude of a recording's spectrum: (bins, frames), as torchaudio's Spectrogram.

    Parameters
    ----------
    n_fft
        Points of the transform: a product of 2, 3 and 5.
    win
        Samples of the Hann window; 0: n_fft.
    hop
        Samples from one frame to the next; 0: half the window.
    pad
        The first frame is centred on the first sample, and the ends are reflected or filled with zeros; or there
        are only frames that lie inside the recording (reflect, zero, none).
    power
        1: magnitudes; 2: their squares.
    """

    name: ClassVar[str] = "spectrogram"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("n_fft", "int", 400),
        ("win", "int", 0),
        ("hop", "int", 0),
        ("pad", "choice", "reflect"),
        ("power", "int", 2),
    )

    def __init__(self, n_fft: int = 400, win: int = 0, hop: int = 0, pad: str = "reflect", power: int = 2) -> None:
        super().__init__(n_fft, win, hop, pad, power)


class Speed(Operation):
    """A recording faster or slower, its pitch with it: resampled from factor * rate, as torchaudio's Speed.

    Parameters
    ----------
    factors
        One of these, each with equal chance.
    rate
        Samples a second of a value that has no rate; does not resample.
    """

    name: ClassVar[str] = "speed"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("factors", "floats", (0.9, 1, 1.1)), ("rate", "int", 0))

    def __init__(self, factors: Floats = (0.9, 1, 1.1), rate: int = 0) -> None:
        super().__init__(factors, rate)


class Squeeze(Operation):
    """Without the dimensions that are always 1."""

    name: ClassVar[str] = "squeeze"

    def __init__(self) -> None:
        super().__init__()


class Stack(Operation):
    """Several inputs of one shape along a new dimension.

    Parameters
    ----------
    axis
        Which dimension; -1 is the last.
    """

    name: ClassVar[str] = "stack"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("axis", "int", 0),)

    def __init__(self, axis: int = 0) -> None:
        super().__init__(axis)


class Strings(Operation):
    """Text in a batch: a list of str in Python; in C the UTF-8 bytes of all samples end to end, and NAME_offset says
    where each begins, as with ragged. A value that is not UTF-8 is a bad sample; last step of an output."""

    name: ClassVar[str] = "strings"

    def __init__(self) -> None:
        super().__init__()


class TimeJitter(Operation):
    """Each frame of a clip is replaced by a neighbour at random.

    Parameters
    ----------
    frames
        Each frame is replaced by one at most so many before or after it.
    """

    name: ClassVar[str] = "time_jitter"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("frames", "int", 1),)

    def __init__(self, frames: int = 1) -> None:
        super().__init__(frames)


class TimeReverse(Operation):
    """The frames of a clip in reverse order, with some probability.

    Parameters
    ----------
    p
        Probability.
    """

    name: ClassVar[str] = "time_reverse"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("p", "float", 0.5),)

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)


class TimeSubsample(Operation):
    """Every so many of a clip's frames.

    Parameters
    ----------
    stride
        Every so many frames remain.
    random
        Begin with any of the first `stride` frames instead of the first.
    """

    name: ClassVar[str] = "time_subsample"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("stride", "int", ...), ("random", "bool", False))

    def __init__(self, stride: int, random: bool = False) -> None:
        super().__init__(stride, random)


class ToFloat(Operation):
    """F32 in 0..1: u8 times 1/255, u16 times 1/65535, signed types by their largest value; floats keep their value."""

    name: ClassVar[str] = "to_float"

    def __init__(self) -> None:
        super().__init__()


class Trim(Operation):
    """A recording without the silence at its ends, as librosa.effects.trim.

    Parameters
    ----------
    top_db
        Decibels below the loudest frame from which on a frame is silent.
    frame
        Samples of a frame.
    hop
        Samples from one frame to the next.
    ref
        The amplitude that is 0 dB; 0: the loudest frame's.
    """

    name: ClassVar[str] = "trim"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("top_db", "float", 60),
        ("frame", "int", 2048),
        ("hop", "int", 512),
        ("ref", "float", 0),
    )

    def __init__(self, top_db: float = 60, frame: int = 2048, hop: int = 512, ref: float = 0) -> None:
        super().__init__(top_db, frame, hop, ref)


class TrivialAugment(Operation):
    """TrivialAugment (wide): one of fourteen changes of colour and place, of random magnitude.

    Parameters
    ----------
    bins
        How many magnitudes there are.
    interpolation
        For the moves: nearest or bilinear (nearest, bilinear).
    fill
        What lies outside the image: a number, or one for each channel.
    """

    name: ClassVar[str] = "trivialaugment"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("bins", "int", 31),
        ("interpolation", "choice", "nearest"),
        ("fill", "floats", 0),
    )

    def __init__(self, bins: int = 31, interpolation: str = "nearest", fill: Floats = 0) -> None:
        super().__init__(bins, interpolation, fill)


class Truncate(Operation):
    """At most so much of an array's first dimension.

    Parameters
    ----------
    length
        How much of the first dimension may remain.
    side
        Right: the end is cut off; left: the beginning (right, left).
    """

    name: ClassVar[str] = "truncate"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("length", "int", ...), ("side", "choice", "right"))

    def __init__(self, length: int, side: str = "right") -> None:
        super().__init__(length, side)


class VerticalFlip(Operation):
    """Mirrors top and bottom with probability p.

    Parameters
    ----------
    p
        Probability.
    """

    name: ClassVar[str] = "vflip"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (("p", "float", 0.5),)

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)


class Window(Operation):
    """A piece of a recording, of a clip's frames or of an array's first dimension.

    Parameters
    ----------
    seconds
        Length of the window in seconds, rounded to whole steps of axis t.
    at
        Where the window is: at `start`, in the middle, or anywhere with equal chance (fixed, center, random).
    short
        A value shorter than the window: keep what there is, pad its end with zeros, or error (keep, pad, error).
    samples
        Length in steps of axis t (samples, frames, rows), instead of seconds.
    start
        Where a fixed window begins: in seconds, or in samples if the length is in samples.
    """

    name: ClassVar[str] = "window"
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = (
        ("seconds", "float", 0),
        ("at", "choice", "fixed"),
        ("short", "choice", "keep"),
        ("samples", "int", 0),
        ("start", "float", 0),
    )

    def __init__(
        self, seconds: float = 0, at: str = "fixed", short: str = "keep", samples: int = 0, start: float = 0
    ) -> None:
        super().__init__(seconds, at, short, samples, start)

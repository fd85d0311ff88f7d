#!/usr/bin/env python3
"""One measurement of one loader through Python, mldf's too, in its own environment.

    rivals.py NAME WORK DATA THREADS EPOCHS     prints {"rate": samples/s, "cpu_rate": samples per CPU second}
    rivals.py NAME WORK DATA THREADS 0          prints {"import": s, "first_batch": s since before the import}

WORK: jpeg     DATA/photos*      500x375 JPEG -> random-resized-crop 224, flip, normalise, CHW float32
      raw160   DATA/raw160*      stored 160x160 u8 -> normalised CHW float32
      raw256   DATA/raw256*      stored 256x256 u8 -> random-resized-crop 224, flip, normalised CHW float32
      cifar    DATA/cifar*       stored 32x32 u8 -> flip, translate 2, cutout 8, normalised CHW float32
Batches of 64 (cifar: 512), random order, each batch summed. The first epoch warms up and is not counted.
"""
import importlib
import json
import os
import resource
import sys
import time

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


def cpu():
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def mldf(work, data, threads, output="numpy", stored="", decode=()):
    import mldf
    steps = {"jpeg": [mldf.RandomResizedCrop(224), mldf.HorizontalFlip()],
             "raw160": [],
             "raw256": [mldf.RandomResizedCrop(224), mldf.HorizontalFlip()],
             "cifar": [mldf.HorizontalFlip(), mldf.RandomTranslate(2), mldf.Cutout(8)]}[work]
    name = {"jpeg": "photos"}.get(work, work)
    steps = [*decode, *steps]
    loader = mldf.Loader(f"{data}/{name}{stored}.mldf", batch_size=512 if work == "cifar" else 64, threads=threads, shuffle=True,
                         output=output, pipelines={"image": [*steps, mldf.Normalize("imagenet"), mldf.CHW("f32")]})

    def epoch():
        for images, _ in loader:
            images.sum()
            yield len(images)
    return epoch


def mldf_torch(work, data, threads):
    return mldf(work, data, threads, "torch")


def mldf_fast(work, data, threads):
    return mldf(work, data, threads, stored="_fast")


def mldf_fused(work, data, threads):
    import mldf as package
    return mldf(work, data, threads, stored="_fast", decode=[package.Decode(chroma="fused")])


def dali(work, data, threads):
    import numpy as np
    from nvidia.dali import fn, pipeline_def, types
    assert work == "jpeg"

    @pipeline_def(batch_size=64, num_threads=threads, device_id=None, seed=1)
    def pipe():
        encoded, label = fn.readers.file(file_root=f"{data}/photos", random_shuffle=True, name="reader")
        images = fn.decoders.image_random_crop(encoded, device="cpu", output_type=types.RGB,
                                               random_area=[0.08, 1.0], random_aspect_ratio=[0.75, 4 / 3])
        images = fn.resize(images, resize_x=224, resize_y=224, interp_type=types.INTERP_LINEAR)
        return fn.crop_mirror_normalize(images, dtype=types.FLOAT, output_layout="CHW", mirror=fn.random.coin_flip(),
                                        mean=[m * 255 for m in MEAN], std=[s * 255 for s in STD]), label

    p = pipe()
    p.build()
    size = p.epoch_size("reader")

    def epoch():
        done = 0
        while done < size:
            images, _ = p.run()
            array = images.as_array()
            array.sum()
            done += len(array)
            yield len(array)
    return epoch


def turbo(work, data, threads):
    import turboloader
    if work == "jpeg":
        loader = turboloader.DataLoader(f"{data}/photos.tar", batch_size=64, num_workers=threads, shuffle=True,
                                        image_size=224, output_format="numpy_chw", train_aug=True,
                                        transform=turboloader.ImageNetNormalize())
    elif work == "raw160":
        loader = turboloader.TblRawImageLoader(f"{data}/raw160.tbl", batch_size=64, shuffle=True)
    elif work == "raw256":
        loader = turboloader.TblRawImageLoader(f"{data}/raw256.tbl", batch_size=64, shuffle=True, train_aug=True,
                                               hflip_prob=0.5, image_size=224)
    else:
        raise AssertionError(work)
    epochs = [0]

    def epoch():
        loader.set_epoch(epochs[0])
        epochs[0] += 1
        for batch in loader:
            images = batch[0] if isinstance(batch, tuple) else batch
            images.sum()
            yield len(images)
    return epoch


def ffcv(work, data, threads):
    import numpy as np
    from ffcv.fields.decoders import (IntDecoder, RandomResizedCropRGBImageDecoder, SimpleRGBImageDecoder)
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import (Cutout, NormalizeImage, RandomHorizontalFlip, RandomTranslate, ToTensor, ToTorchImage)
    mean, std = np.array(MEAN) * 255, np.array(STD) * 255
    tail = [NormalizeImage(mean, std, np.float32), ToTensor(), ToTorchImage()]
    if work in ("jpeg", "raw256"):
        steps = [RandomResizedCropRGBImageDecoder((224, 224)), RandomHorizontalFlip()] + tail
    elif work == "raw160":
        steps = [SimpleRGBImageDecoder()] + tail
    else:
        steps = [SimpleRGBImageDecoder(), RandomHorizontalFlip(), RandomTranslate(padding=2),
                 Cutout(8, tuple(int(m) for m in mean))] + tail
    name = {"jpeg": "photos"}.get(work, work)
    loader = Loader(f"{data}/{name}.beton", batch_size=512 if work == "cifar" else 64, num_workers=threads,
                    order=OrderOption.RANDOM, os_cache=True, drop_last=False,
                    pipelines={"image": steps, "label": [IntDecoder(), ToTensor()]})

    def epoch():
        for images, _ in loader:
            images.sum()
            yield len(images)
    return epoch


def tfdata(work, data, threads):
    import glob

    import tensorflow as tf
    assert work == "jpeg"
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    paths = sorted(glob.glob(f"{data}/photos/*/*.jpg"))

    def load(path):
        encoded = tf.io.read_file(path)
        shape = tf.image.extract_jpeg_shape(encoded)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            shape, tf.zeros([1, 0, 4]), area_range=(0.08, 1.0), aspect_ratio_range=(0.75, 4 / 3),
            use_image_if_no_bounding_boxes=True, min_object_covered=0.0)
        window = tf.stack([begin[0], begin[1], size[0], size[1]])
        image = tf.image.decode_and_crop_jpeg(encoded, window, channels=3)
        image = tf.image.resize(image, (224, 224))
        image = tf.image.random_flip_left_right(image)
        image = (image - tf.constant(MEAN) * 255) / (tf.constant(STD) * 255)
        return tf.transpose(image, (2, 0, 1))

    dataset = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths), reshuffle_each_iteration=True)
    dataset = dataset.map(load, num_parallel_calls=threads, deterministic=True).batch(64).prefetch(2)
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    dataset = dataset.with_options(options)

    def epoch():
        for images in dataset:
            array = images.numpy()
            array.sum()
            yield len(array)
    return epoch


def pytorch(work, data, threads):
    import glob
    import math
    import random

    import cv2
    import numpy as np
    import simplejpeg
    import torch
    assert work == "jpeg"
    cv2.setNumThreads(0)
    paths = sorted(glob.glob(f"{data}/photos/*/*.jpg"))
    scale = (1 / (255 * np.array(STD))).astype(np.float32)
    shift = (-np.array(MEAN) / np.array(STD)).astype(np.float32)

    class Photos(torch.utils.data.Dataset):
        def __len__(self):
            return len(paths)

        def __getitem__(self, i):
            with open(paths[i], "rb") as f:
                image = simplejpeg.decode_jpeg(f.read())
            h, w = image.shape[:2]
            for _ in range(10):
                area = h * w * random.uniform(0.08, 1.0)
                ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
                cw, ch = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
                if 0 < cw <= w and 0 < ch <= h:
                    y, x = random.randint(0, h - ch), random.randint(0, w - cw)
                    break
            else:
                y, x, ch, cw = 0, 0, h, w
            image = cv2.resize(image[y:y + ch, x:x + cw], (224, 224), interpolation=cv2.INTER_AREA)
            if random.random() < 0.5:
                image = image[:, ::-1]
            return torch.from_numpy(np.ascontiguousarray((image * scale + shift).transpose(2, 0, 1)))

    loader = torch.utils.data.DataLoader(Photos(), batch_size=64, shuffle=True, num_workers=threads, persistent_workers=True)

    def epoch():
        for images in loader:
            images.sum()
            yield len(images)
    return epoch


RIVALS = {  # name: (how, the modules that a program has to import)
    "mldf": (mldf, ["mldf"]),
    "mldf_torch": (mldf_torch, ["torch", "mldf"]),
    "mldf_fast": (mldf_fast, ["mldf"]),
    "mldf_fused": (mldf_fused, ["mldf"]),
    "dali": (dali, ["nvidia.dali"]),
    "turbo": (turbo, ["turboloader"]),
    "ffcv": (ffcv, ["ffcv.loader", "ffcv.transforms"]),
    "tf": (tfdata, ["tensorflow"]),
    "torch": (pytorch, ["torch", "cv2", "simplejpeg"]),
}


def main(name, work, data, threads, epochs):
    how, modules = RIVALS[name]
    os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
    start = time.perf_counter()
    for module in modules:
        importlib.import_module(module)
    imported = time.perf_counter() - start
    epoch = how(work, data, threads)
    if epochs == 0:
        next(epoch())
        result = {"import": imported, "first_batch": time.perf_counter() - start}
    else:
        sum(epoch())
        start, used, done = time.perf_counter(), cpu(), 0
        for _ in range(epochs):
            done += sum(epoch())
        seconds, used = time.perf_counter() - start, cpu() - used
        result = {"rate": done / seconds, "cpu_rate": done / used if used > 0.5 else None}
    print(json.dumps(result))
    sys.stdout.flush()
    os._exit(0)  # some of them do not end their threads


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))

"""time_turboloader.py FOLDER: how fast the real TurboLoader writes TBL and reads it with checksums: 2,000 samples of 40 kB that do
not shrink, as bench/bench_interop.c has them. Runs in TurboLoader's own environment."""
import os
import pathlib
import sys
import time

import turboloader as tl

SAMPLES, BYTES = 2000, 40000

path = pathlib.Path(sys.argv[1]) / "theirs.tbl"
data = os.urandom(BYTES)
begin = time.perf_counter()
writer = tl.TblWriterV2(str(path), enable_compression=False)
for _ in range(SAMPLES):
    writer.add_sample(data, tl.SampleFormat.JPEG)
writer.finalize()
del writer
print(f"write {SAMPLES * BYTES / (time.perf_counter() - begin) / 1e6:.0f} MB/s")
reader = tl.TblReaderV2(str(path), verify_checksums=True)
begin = time.perf_counter()
for i in range(SAMPLES):
    reader.read_sample(i)
print(f"read with checksums {SAMPLES * BYTES / (time.perf_counter() - begin) / 1e6:.0f} MB/s")
path.unlink()

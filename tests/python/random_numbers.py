"""src/util/random.h once more, in Python: Philox 4x32-10 by counter, so that a test can foretell what an operation draws."""

import math

M64, M32 = (1 << 64) - 1, (1 << 32) - 1


def mix64(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & M64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & M64
    return x ^ (x >> 31)


def stream_of(text):
    h = 2166136261
    for byte in text.encode():
        h = (h ^ byte) * 16777619 & M32
    return mix64(h) >> 32


class Rng:
    def __init__(self, seed, epoch, position, stream):
        key = mix64(mix64((seed + 0x9E3779B97F4A7C15) & M64) + epoch & M64)
        self.key = key & M32, key >> 32
        self.counter = [0, stream_of(stream), position & M32, position >> 32]
        self.left = []

    def u32(self):
        if not self.left:
            c, (k0, k1) = list(self.counter), self.key
            for _ in range(10):
                a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
                c = [(b >> 32) ^ c[1] ^ k0, b & M32, (a >> 32) ^ c[3] ^ k1, a & M32]
                k0, k1 = k0 + 0x9E3779B9 & M32, k1 + 0xBB67AE85 & M32
            self.left = c
            self.counter[0] += 1
        return self.left.pop(0)

    def u64(self):
        return self.u32() | self.u32() << 32

    def below(self, n):
        """n < 2**32."""
        product = self.u32() * n
        while (product & M32) < (1 << 32) % n:
            product = self.u32() * n
        return product >> 32

    def unit(self):
        return (self.u64() >> 11) * 2.0 ** -53

    def uniform(self, low, high):
        value = low + (high - low) * self.unit()
        return value if value < high else low

    def chance(self, p):
        return self.unit() < p

    def normal(self):
        radius = math.sqrt(-2 * math.log(1 - self.unit()))
        return radius * math.cos(2 * math.pi * self.unit())

"""Keys and passphrases: what a user may give, and the bytes that the library takes."""

from __future__ import annotations

from typing import Union

from .errors import ArgumentError, WrongTypeError

__all__ = ["Key", "Passphrase", "secret"]

Key = Union[bytes, bytearray, memoryview, None]
Passphrase = Union[str, bytes, bytearray, memoryview, None]


def secret(key: Key, passphrase: Passphrase, prefix: str = "") -> dict[str, bytes | None]:
    """Both as options of the extension module.

    >>> secret(None, "open sesame", "encrypt_")
    {'encrypt_key': None, 'encrypt_passphrase': b'open sesame'}
    """
    if isinstance(key, str):
        raise WrongTypeError("key is 32 bytes, not a str: words are a passphrase, and bytes.fromhex() reads digits")
    try:
        words = passphrase.encode() if isinstance(passphrase, str) else passphrase
    except UnicodeEncodeError:
        raise ArgumentError("the passphrase has half a character in it, which UTF-8 does not hold") from None
    return {f"{prefix}key": _bytes("key", key), f"{prefix}passphrase": _bytes("passphrase", words)}


def _bytes(name: str, value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise WrongTypeError(f"{name} is bytes, not a {type(value).__name__}")

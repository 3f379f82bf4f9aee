"""The form of model files and checkpoints.

JSON with its format, a version, a checksum, and a code that only the holder of a key can make.

The checksum tells a file that was damaged. Whoever changes a file on purpose writes a new checksum, so it tells nothing
about its author; with a key in the environment variable HORNBOOST_KEY, files are written with an HMAC-SHA256 of their
content, and others are refused.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import select
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from hornboost.errors import ModelError
from hornboost.model.part import is_too_deep

KEY = "HORNBOOST_KEY"
CEILING = 1 << 28
"""Bytes that a file may have: hundreds of times what a model of ten thousand rules takes."""

PATIENCE = 5.0
"""Seconds that a pipe may stay empty."""


def sealed(noun: str, version: int, body: Mapping[str, Any]) -> bytes:
    """The bytes of a file with this body; equal bodies give equal bytes."""
    content = {"format": f"hornboost-{noun}", "version": version, noun: body}
    key = _key()
    if key is not None:
        content["hmac"] = _code(content, key)
    content["checksum"] = digest(content)
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False, indent=1)
    return (text + "\n").encode("utf-8", "surrogatepass")


def unsealed(content: bytes, place: str, noun: str, version: int, way_out: str) -> Any:
    """The body of such a file, up to a version, all that surrounds it checked.

    `way_out` ends the sentence that refuses another file.
    """
    try:
        parsed = json.loads(content.decode("utf-8", "surrogatepass"), parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError):
        raise ModelError(f"{place}: the file is damaged, cut short or no {noun}; {way_out}") from None
    if not isinstance(parsed, dict) or parsed.get("format") != f"hornboost-{noun}" or is_too_deep(parsed):
        raise ModelError(f"{place}: this is no {noun} file of HornBoost; {way_out}")
    found = parsed.get("version")
    if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= version:
        versions = f"format version {_short(found)}, and this HornBoost reads {version}"
        raise ModelError(f"{place}: the {noun} has {versions}; install the one that wrote it, or {way_out}")
    checksum = parsed.pop("checksum", None)
    if checksum != digest(parsed):
        raise ModelError(f"{place}: the checksum does not match, so the file was changed or damaged; {way_out}")
    _check_code(parsed, parsed.pop("hmac", None), place, noun)
    return parsed.get(noun)


def _check_code(content: Any, code: Any, place: str, noun: str) -> None:
    key = _key()
    if key is None:
        return  # nobody without the key can check the code; the checksum still tells damage
    if code is None:
        raise ModelError(
            f"{place}: {KEY} is set, and the {noun} was written without a key; "
            f"write it again with the key, or unset {KEY}"
        )
    if not isinstance(code, str) or not hmac.compare_digest(
        code.encode("utf-8", "surrogatepass"), _code(content, key).encode()
    ):
        raise ModelError(
            f"{place}: the {noun} was written with another key than {KEY} or changed without it; do not use it"
        )


def _key() -> bytes | None:
    key = os.environ.get(KEY)
    if key is None:
        return None
    if not key.strip():
        raise ModelError(f"the environment variable {KEY} is empty; set it to a secret text, or unset it")
    return key.encode("utf-8", "surrogateescape")


def _code(content: Any, key: bytes) -> str:
    return "hmac-sha256:" + hmac.new(key, canonical(content), "sha256").hexdigest()


def digest(content: Any) -> str:
    """SHA-256 of the canonical JSON."""
    return "sha256:" + hashlib.sha256(canonical(content)).hexdigest()


def canonical(content: Any) -> bytes:
    """JSON without a choice in it."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"'{name}' is no number")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _short(value: Any) -> str:
    text = repr(value) if not isinstance(value, dict | list) else type(value).__name__
    return text if len(text) <= 40 else text[:40] + "…"


def read_bytes(path: str | Path, noun: str) -> bytes:
    """The content of a file or pipe, up to a ceiling: a device without end is not read until memory is."""
    place = Path(path)
    kind = place.stat().st_mode
    if stat.S_ISDIR(kind):
        raise ModelError(f"{path}: the {noun} cannot be read (it is a folder); name a file")
    if not stat.S_ISREG(kind) and not stat.S_ISFIFO(kind):
        raise ModelError(f"{path}: the {noun} cannot be read (it is a device); name a file")
    descriptor = os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        if stat.S_ISFIFO(kind):
            waiting = select.poll()
            waiting.register(descriptor, select.POLLIN)
            if not waiting.poll(1000 * PATIENCE):
                raise ModelError(f"{path}: the {noun} cannot be read (nothing came through the pipe); name a file")
            os.set_blocking(descriptor, True)
        content = file.read(CEILING + 1)
    if content is None:  # what calls itself a file and waits as a pipe does, such as a log of the kernel
        raise ModelError(f"{path}: the {noun} cannot be read (there is nothing to read now); name another file")
    if len(content) > CEILING:
        raise ModelError(f"{path}: the {noun} cannot be read (it has more than {CEILING >> 20} MB); name another file")
    return content

"""Addresses of databases in messages: never with the password that may stand in them."""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "***"
_USER = re.compile(r"(?P<start>[A-Za-z][\w+.-]*:/{1,3}[^\s:/@?#]*):(?P<secret>.*)@")
"""Everything between the first colon and the last @ may be of the password, also where it should have been escaped."""

_OPTION = re.compile(r"(?P<start>\b(?:ssl)?password\s*=\s*)(?P<secret>'(?:[^'\\]|\\.)*'|[^\s&'\"]*)", re.IGNORECASE)

_PORT = re.compile(r'"[^"]*"(?= for connection option "port")')
"""What stands where libpq looks for a port may be the password of an address that lacks its host."""


def without_password(text: str) -> str:
    """A text that may hold an address, with stars for its password.

    >>> without_password("postgresql://me:pa@ss@host/db?sslmode=require")
    'postgresql://me:***@host/db?sslmode=require'
    >>> without_password("postgresql://host/db?user=me&password=secret")
    'postgresql://host/db?user=me&password=***'
    """
    text = _USER.sub(lambda found: f"{found['start']}:{HIDDEN}@", text)
    return _OPTION.sub(lambda found: found["start"] + HIDDEN, text)


def said_safely(message: str, address: str) -> str:
    """What a driver says about an address, without the password or any part of it
    that the driver may have taken for something else.
    """
    pieces = {
        piece
        for pattern in (_USER, _OPTION)
        for found in pattern.finditer(address)
        for secret in (found["secret"], unquote(found["secret"]))
        for piece in (secret, *re.split(r"[/?#:@&=\s\x00-\x1f]+", secret))
        if piece
    }
    shown = _PORT.sub(f'"{HIDDEN}"', without_password(message))
    for piece in sorted(pieces, key=len, reverse=True):
        shown = re.sub(rf"(?<![^\W_]){re.escape(piece)}(?![^\W_])", HIDDEN, shown)
    return shown

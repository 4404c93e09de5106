"""Images for prompts that carry some: a seeded PNG of the declared size, made before the run.

The bytes are whole before anything is sent, so that no fetch and no encoding is on the client's hot path. How
many tokens an image becomes is the server's word alone.
"""

import base64
import random
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any


def png(width: int, height: int, *, seed: int) -> bytes:
    """An RGB image of seeded noise in 8 x 8 blocks: small on the wire, unlike any other seed's."""
    draw = random.Random(seed).random
    blocks = -(-width // 8)
    rows = bytearray()
    line = b""
    for y in range(height):
        if y % 8 == 0:
            colours = (bytes(int(draw() * 256) for _ in range(3)) * 8 for _ in range(blocks))
            line = b"\x00" + b"".join(colours)[: width * 3]
        rows += line
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(rows), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_part(kind, data) for kind, data in parts)


def _part(kind: bytes, data: bytes) -> bytes:
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def with_media(
    messages: Sequence[Mapping[str, Any]], media: Sequence[Mapping[str, Any]], *, seed: int
) -> list[dict[str, Any]]:
    """The messages with the declared images in front of the first user message's text."""
    images = [
        {
            "type": "image_url",
            "image_url": {
                "url": "data:image/png;base64,"
                + base64.b64encode(
                    png(item["width"], item["height"], seed=seed + position)
                ).decode()
            },
        }
        for position, item in enumerate(media)
    ]
    found = [dict(message) for message in messages]
    first = next(message for message in found if message["role"] == "user")
    content = first["content"]
    words = content if isinstance(content, list) else [{"type": "text", "text": content}]
    first["content"] = [*images, *words]
    return found

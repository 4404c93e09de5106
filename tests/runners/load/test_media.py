"""Images are whole PNG files before the run, and where they stand in the messages."""

import base64
import struct
import zlib

from runners.load.media import png, with_media

IMAGE = {"kind": "image", "width": 20, "height": 12}


def test_a_png_holds_the_declared_pixels() -> None:
    data = png(20, 12, seed=1)

    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (20, 12)
    start = data.index(b"IDAT")
    (length,) = struct.unpack(">I", data[start - 4 : start])
    body = data[start : start + 4 + length]
    assert struct.unpack(">I", data[start + 4 + length : start + 8 + length]) == (zlib.crc32(body),)
    assert len(zlib.decompress(body[4:])) == 12 * (1 + 20 * 3)  # a filter byte, then RGB


def test_a_seed_makes_the_image() -> None:
    assert png(20, 12, seed=1) == png(20, 12, seed=1) != png(20, 12, seed=2)


def test_images_stand_before_the_words_of_the_first_user_message_alone() -> None:
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "first"},
        {"role": "user", "content": "second"},
    ]

    shown = with_media(messages, [IMAGE, IMAGE], seed=7)

    first, second, words = shown[1]["content"]
    urls = [part["image_url"]["url"] for part in (first, second)]
    assert urls[0] != urls[1]
    assert base64.b64decode(urls[0].removeprefix("data:image/png;base64,")) == png(20, 12, seed=7)
    assert words == {"type": "text", "text": "first"}
    assert (shown[0]["content"], shown[2]["content"]) == ("s", "second")
    assert messages[1]["content"] == "first"

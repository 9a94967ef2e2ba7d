"""What the API asks of a picture (rule C10): that it is what it says it is, its size in bytes and in pixels.

It reads the first bytes of PNG, JPEG and GIF, and lets pass what it does not know.
"""

import base64
import binascii
from collections.abc import Iterator

MOST_BYTES = 5 * 1024 * 1024
MOST_PIXELS, MOST_PIXELS_OF_MANY, MANY = 8000, 2000, 20
_HEAD = 64 * 1024  # base64 characters, a multiple of four: JPEG has its size here, after previews and profiles


def check_picture(source: dict, path: str, images: int) -> Iterator[str]:
    """Yield what the API says of a base64 picture. images: how many the request has; of many, each must be smaller."""
    media_type, data = source["media_type"], source["data"]
    try:
        head = base64.b64decode(data[:_HEAD], validate=True)
    except (binascii.Error, ValueError):
        return
    found, side = read_picture(head)
    if found and found != media_type:
        yield f"{path}.data: Image does not match the provided media type {media_type}"
    if len(data) > MOST_BYTES:
        yield f"{path}: image exceeds 5 MB maximum: {len(data)} bytes > {MOST_BYTES} bytes"
    if side > MOST_PIXELS:
        yield f"{path}.data: At least one of the image dimensions exceed max allowed size: {MOST_PIXELS} pixels"
    elif side > MOST_PIXELS_OF_MANY and images > MANY:
        text = "At least one of the image dimensions exceed max allowed size for many-image requests"
        yield f"{path}.data: {text}: {MOST_PIXELS_OF_MANY} pixels"


def read_picture(head: bytes) -> tuple[str | None, int]:
    """(media type, longer side in pixels), or None and 0 for what the head does not say."""
    number = int.from_bytes
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png", max(number(head[16:20], "big"), number(head[20:24], "big")) if len(head) >= 24 else 0
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif", max(number(head[6:8], "little"), number(head[8:10], "little")) if len(head) >= 10 else 0
    if not head.startswith(b"\xff\xd8\xff"):
        return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else None, 0
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        if 0xC0 <= head[at + 1] <= 0xCF and head[at + 1] not in (0xC4, 0xC8, 0xCC):  # a frame; the three are tables
            return "image/jpeg", max(number(head[at + 7 : at + 9], "big"), number(head[at + 5 : at + 7], "big"))
        at += 2 + number(head[at + 2 : at + 4], "big")
    return "image/jpeg", 0

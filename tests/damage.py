"""Random changes of a file's bytes."""

import random


def changed(content: bytes, draw: random.Random) -> bytes:
    """Some bytes changed, inserted, left out or cut off."""
    found = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 9))):
        at = draw.randrange(len(found) + 1)
        kind = draw.randrange(5)
        if kind == 0:
            del found[at:]
        elif kind == 1:
            del found[at : at + draw.randrange(1, 20)]
        elif kind == 2:
            found[at:at] = draw.randbytes(draw.randrange(1, 20))
        else:
            found[at : at + 1] = bytes([draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))])
    return bytes(found)

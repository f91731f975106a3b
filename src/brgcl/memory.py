"""Memory that is kept for reuse instead of being returned to the system after every tensor.

By default glibc takes a tensor of more than 128 KB straight from the system and gives it back when
it is freed; the next one of the same size then costs a page fault for every 4 KB. Training makes
and frees the same large tensors all the time, and spent most of its time on that.
"""

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # parameters of mallopt(3)


def keep_freed_memory() -> bool:
    """Let the process reuse freed memory; returns whether this system could be told so.

    Holds for the whole process. Where the C library is not glibc nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(M_MMAP_MAX, 0)) and bool(mallopt(M_TRIM_THRESHOLD, 2**31 - 1))

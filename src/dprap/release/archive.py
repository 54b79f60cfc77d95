"""Arrays of a release on disk (.npz), read only after what the archive announces was compared with
the limits.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dprap.limits import MAX_ARCHIVE_BYTES

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_arrays(path: Path) -> Mapping[str, np.ndarray]:
    """The arrays of an archive by name; floats only.

    Raises:
        ValueError: for an archive that announces more than the limit, or holds anything else than
            floats. Damage may raise whatever the zip reader does.
    """
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        announced = sum(member.file_size for member in members)
        if announced > MAX_ARCHIVE_BYTES:
            raise ValueError(f"{path.name} would unpack to more than {MAX_ARCHIVE_BYTES >> 20} MiB")
        if len({member.filename for member in members}) != len(members):
            raise ValueError(f"{path.name} has an array twice")
        return {
            member.filename.removesuffix(".npy"): _read(archive, member, path.name)
            for member in members
        }


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> np.ndarray:
    with archive.open(member) as stream:
        read_header = _HEADERS.get(np.lib.format.read_magic(stream))
        if read_header is None:
            raise ValueError(f"{name} has an array of an unknown form")
        shape, by_columns, dtype = read_header(stream)
        if dtype not in (np.dtype("<f4"), np.dtype("<f8")):
            raise ValueError(f"{name} has an array that is not of floats")
        size = math.prod(shape) * dtype.itemsize
        # not more than the member announces, which was counted above, and the whole of it
        if min(shape, default=0) < 0 or size > member.file_size:
            raise ValueError(f"{name} has an array whose size is not what its header says")
        content = stream.read(size + 1)
        if len(content) != size:
            raise ValueError(f"{name} has an array whose size is not what its header says")
    return np.frombuffer(content, dtype).reshape(shape, order="F" if by_columns else "C")

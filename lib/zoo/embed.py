#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes data files as C arrays: embed.py OUT.c BASEDIR FILE...

Each file is named by its path from BASEDIR; the table is sorted by it, byte for byte, so that it can
be searched by halves. Bytes are written as numbers: string literals have a length limit in C11.
"""

import pathlib
import sys

BYTES_PER_LINE = 24

HEAD = """/* SPDX-License-Identifier: MIT */
/* Written by lib/zoo/embed.py. */
#include "zoo/files.h"
"""


def array(name, data):
    yield f"\nstatic const unsigned char {name}[] = {{\n"
    for start in range(0, len(data), BYTES_PER_LINE):
        row = ", ".join(str(byte) for byte in data[start : start + BYTES_PER_LINE])
        yield f"    {row},\n"
    yield "    0,\n};\n"


def write(out, base, files):
    entries = sorted((path.relative_to(base).as_posix().encode(), path) for path in files)
    out.write(HEAD)
    table = []
    for index, (name, path) in enumerate(entries):
        data = path.read_bytes()
        if b"\0" in data:
            sys.exit(f"{path}: a NUL byte; text is expected")
        out.writelines(array(f"file_{index}", data))
        table.append(f'    {{"{name.decode()}", (const char *)file_{index}, {len(data)}}},\n')
    out.write("\nconst lin_zoo_file lin_zoo_files[] = {\n")
    out.writelines(table)
    out.write(f"}};\nconst uint32_t lin_zoo_file_count = {len(entries)};\n")


def main(arguments):
    if len(arguments) < 4:
        sys.exit(__doc__)
    base = pathlib.Path(arguments[2]).resolve()
    files = [pathlib.Path(name).resolve() for name in arguments[3:]]
    with open(arguments[1], "w", encoding="utf-8", newline="\n") as out:
        write(out, base, files)


main(sys.argv)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes text files as C texts: embed.py OUT.c HEADER NAME=FILE...

Bytes are written as numbers: string literals have a length limit in C11.
"""
import pathlib
import sys


def rows(data):
    for start in range(0, len(data), 24):
        yield "    " + ", ".join(str(byte) for byte in data[start : start + 24]) + ",\n"


def main(arguments):
    if len(arguments) < 4:
        sys.exit(__doc__)
    with open(arguments[1], "w", encoding="utf-8", newline="\n") as out:
        out.write(f'/* SPDX-License-Identifier: MIT */\n/* Written by lib/report/embed.py. */\n#include "{arguments[2]}"\n')
        for argument in arguments[3:]:
            name, path = argument.split("=", 1)
            data = pathlib.Path(path).read_bytes()
            if b"\0" in data or b"</" in data:
                sys.exit(f"{path}: a NUL byte, or what could end an element of the page")
            out.write(f"\nstatic const unsigned char {name}_bytes[] = {{\n")
            out.writelines(rows(data))
            out.write(f"    0,\n}};\nconst char *const {name} = (const char *){name}_bytes;\n")


main(sys.argv)

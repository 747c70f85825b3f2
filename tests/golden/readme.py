#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the examples of README.md and compares what they print with what stands there: readme.py LINNET README [--rewrite].

A line of `…` stands for any number of lines. --rewrite puts in what the program printed; of lines behind a `…` the first
that is not empty must stand in it as it was, and as many follow as there were.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"```\n\$ (?:linnet|\./bootstrap) (?P<command>[^\n]*)\n(?P<output>.*?\n)```", re.S)
PROGRAM = re.compile(r"```\n(module mlp\n.*?)```", re.S)
GAP = "…"


def agrees(wanted, printed):
    """Whether the lines of `printed` are those of `wanted`, in order and whole but for the gaps."""
    at, gap = 0, False
    for line in wanted:
        if line == GAP:
            gap = True
            continue
        while gap and at < len(printed) and printed[at] != line:
            at += 1
        if at == len(printed) or printed[at] != line:
            return False
        at, gap = at + 1, False
    return gap or at == len(printed)


def renewed(wanted, printed):
    """`wanted` with the lines of `printed`."""
    if GAP not in wanted:
        return printed
    lines, part, at = [], [], 0
    for line in [*wanted, GAP]:
        if line != GAP:
            part.append(line)
            continue
        anchor = next((i for i, word in enumerate(part) if word), None)
        if anchor is not None:
            at = printed.index(part[anchor], at) - anchor if lines else 0
            lines += printed[at:at + len(part)]
            at += len(part)
        lines.append(GAP)
        part = []
    lines.pop()
    return lines


def main():
    linnet, readme = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    text = readme.read_text(encoding="utf-8")
    examples = [found for found in BLOCK.finditer(text) if found["output"].strip()]
    failed = 0
    print(f"1..{len(examples)}")
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "mlp.linnet").write_text(PROGRAM.search(text)[1], encoding="utf-8")
        for number, example in enumerate(examples, 1):
            done = subprocess.run(f"linnet {example['command']}", shell=True, cwd=folder, capture_output=True, text=True,
                                  env={"PATH": f"{linnet.parent}{os.pathsep}/usr/bin:/bin"}, timeout=60, check=False)
            wanted = example["output"].splitlines()
            good = done.returncode == 0 and agrees(wanted, done.stdout.splitlines())
            print(f"{'ok' if good else 'not ok'} {number} - {example['command']}")
            if not good:
                failed += 1
                print("\n".join("# " + line for line in (done.stdout + done.stderr).splitlines()))
            if not good and "--rewrite" in sys.argv:
                text = text.replace(example["output"], "\n".join(renewed(wanted, done.stdout.splitlines())) + "\n")
    if "--rewrite" in sys.argv:
        readme.write_text(text, encoding="utf-8")
    sys.exit(failed != 0)


main()

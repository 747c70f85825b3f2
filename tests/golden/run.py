#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the program on the cases below a folder and compares what it prints, byte for byte: run.py LINNET FOLDER [--rewrite].

A case is a folder, where it runs, with `args` (one argument a line; `@/` stands for the case's folder, `@golden/` for the folder of all
cases), and any of `expect.txt` or `expect.json` (standard output; empty when there is none), `expect.err` (standard error),
`status` (exit status; 0 when there is none), `stdin`. --rewrite writes what the program printed.
"""
import pathlib
import subprocess
import sys


def read(path):
    return path.read_bytes() if path.exists() else None


def run(linnet, case):
    arguments = [line.replace("@golden/", "../").replace("@/", "./")
                 for line in (case / "args").read_text().splitlines()]
    done = subprocess.run([linnet, *arguments], input=read(case / "stdin") or b"", capture_output=True, timeout=60,
                          cwd=case, env={"PATH": "/usr/bin:/bin"})
    return done.returncode, done.stdout, done.stderr


def compare(case, status, out, err):
    wanted = int((read(case / "status") or b"0").decode())
    expected = read(case / "expect.json") or read(case / "expect.txt") or b""
    if status != wanted:
        return f"exit status {status}, not {wanted}: {err.decode(errors='replace')}"
    if out != expected:
        return f"standard output differs:\n{out.decode(errors='replace')}"
    if err != (read(case / "expect.err") or b""):
        return f"standard error differs:\n{err.decode(errors='replace')}"
    return None


def rewrite(case, status, out, err):
    (case / ("expect.json" if out.startswith((b"{", b"[")) else "expect.txt")).write_bytes(out)
    for name, data in ("status", str(status).encode() + b"\n" if status else b""), ("expect.err", err):
        if data:
            (case / name).write_bytes(data)
        else:
            (case / name).unlink(missing_ok=True)


def main():
    linnet, top = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    cases = sorted(path.parent for path in top.glob("*/args"))
    print(f"1..{len(cases)}")
    failed = 0
    for number, case in enumerate(cases, 1):
        result = run(linnet, case)
        if "--rewrite" in sys.argv:
            rewrite(case, *result)
        wrong = compare(case, *result)
        print(f"{'not ok' if wrong else 'ok'} {number} - {case.name}")
        if wrong:
            failed += 1
            print("\n".join("# " + line for line in wrong.splitlines()))
    return 1 if failed else 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a cmocka program and prints its results as TAP that every reader accepts: tap.py PROGRAM.

cmocka 1.1.5 writes a skipped test as "not ok N # SKIP name", which counts as failed elsewhere, and mixes messages of the
tests into the results; here those become comments.
"""
import re
import subprocess
import sys

done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)
for line in done.stdout.decode(errors="replace").splitlines():
    skipped = re.match(r"not ok (\d+) # SKIP (.*)", line)
    if skipped:
        line = f"ok {skipped[1]} - {skipped[2]} # SKIP"
    elif not re.match(r"(not )?ok \d|1\.\.\d|#", line):
        line = "# " + line
    print(line)
sys.exit(done.returncode if done.returncode < 128 else 1)

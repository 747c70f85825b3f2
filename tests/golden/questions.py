#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`linnet sweep`: answers against those of the commands, and the same bytes however they are made: questions.py LINNET.

Threads, parts, pipes, resuming after every kind of interruption, and processes under mpirun (Debian's `openmpi-bin`; without it,
or without the module, those tests are skipped).
"""
import fcntl
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LINNET = str(pathlib.Path(sys.argv[1]).resolve())
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith(("OMPI_", "PMI", "LINNET_", "CUBLAS_"))}
LLAMA, TINY = "llama-3.1-8b-instruct", "tinyllama-1.1b-chat"
TRAINING = {"training": True, "entry": "loss_packed"}

# What a command says, question by question.
ASKED = [
    {"command": "memory", "model": LLAMA, "batch": 1, "seq-len": 8192},
    {"command": "memory", "model": LLAMA, "batch": 3, "seq-len": 8192, "device": "h100-80gb"},
    {"command": "memory", "model": LLAMA, "batch": 64, "context": "8192", "cache-len": 9000, "device": "h100-80gb"},
    {"command": "memory", "model": TINY, "entry": "decode", "batch": 32, "cache-len": 4096, "kv-dtype": "q8_0,f16"},
    {"command": "memory", "model": TINY, "entry": "decode", "batch": 8, "cache-len": 4096, "kv-dtype": "q8_0,f16"},
    {"command": "memory", "model": TINY, "seq-len": 512, **TRAINING, "checkpoint": "block", "top": 4},
    {"command": "memory", "model": TINY, "seq-len": 8192, **TRAINING, "checkpoint": ["block"], "device-memory": "12GiB"},
    {"command": "memory", "model": TINY, "seq-len": 8192, **TRAINING, "optimizer": "paged-adamw-8bit", "clip-grad-norm": True},
    {"command": "memory", "model": TINY, "seq-len": 1024, **TRAINING, "shards": 4, "zero": 2, "clip-grad-norm": False},
    {"command": "memory", "model": TINY, "seq-len": 8192, **TRAINING, "pipeline-parallel": 2, "microbatches": 4},
    {"command": "memory", "model": TINY, "seq-len": 4096, **TRAINING, "pipeline-parallel": 2, "microbatches": 4},
    {"command": "memory", "model": TINY, "batch": 4, "seq-len": 64, "pipeline-parallel": 2, "microbatches": 2},
    {"command": "memory", "model": TINY, "seq-len": 8192, **TRAINING, "context-parallel": 4},
    {"command": "memory", "model": TINY, "seq-len": 4096, **TRAINING, "context-parallel": 4},
    {"command": "memory", "model": "qwen3-4b", "batch": 2, "seq-len": 64, "tensor-parallel": 4, "numerics": "exact"},
    {"command": "memory", "model": LLAMA, "batch": 2, "seq-len": 64, "bind": ["H=1024", "Heads=16", "Layers=2"]},
    {"command": "memory", "model": "gpt2", "batch": 2, "seq-len": 4096},
    {"command": "memory", "model": "gpt2", "batch": 2, "seq-len": 64, "backend": "generic", "dtype": "f16"},
    {"command": "memory", "model": "bert-base-uncased", "bind": ["B=2", "S=16"]},
    {"command": "fit", "model": LLAMA, "entry": "decode_rows", "seq-len": 8192, "device-memory": "80GiB", "reserve": "2GiB",
     "maximize": "batch"},
    {"command": "fit", "model": LLAMA, "entry": "decode_rows", "seq-len": 8192, "device": "h200", "reserve-percent": 2.5,
     "maximize": "batch"},
    {"command": "fit", "model": TINY, **TRAINING, "checkpoint": "block", "device": "a100-80gb", "maximize": "context"},
    {"command": "fit", "model": TINY, "entry": "decode", "batch": 8, "device": "h100-80gb", "maximize": "kv-cache"},
    {"command": "fit", "model": TINY, "seq-len": 64, "device-memory": "1GiB", "maximize": "batch"},
    {"command": "fit", "model": TINY, **TRAINING, "context-parallel": 2, "device": "h100-80gb", "maximize": "context"},
    {"command": "time", "model": TINY, "seq-len": 8192, **TRAINING, "device": "h100-80gb"},
    {"command": "time", "model": TINY, "entry": "decode", "batch": 4, "cache-len": 64, "device": "a100-80gb", "time-model": "reference"},
]

# What is wrong with a line, and the beginning of the message.
WRONG = [
    ("", "format", "the line is empty"),
    (" \t\r", "format", "the line is empty"),
    ("nonsense", "format", "the line is no JSON object"),
    ("[1, 2]", "format", "the line is JSON, but no object"),
    ("7", "format", "the line is no JSON object"),
    ('{"command": "memory", "model": "gpt2"', "format", "the line is no JSON object"),
    ('{"command": "memory"} {}', "format", "the line is no JSON object"),
    ('{"command": "memory", "command": "fit"}', "format", "a key is there twice"),
    ("{}", "argument", "`command` is missing"),
    ('{"command": 7}', "argument", "`command` is missing"),
    ('{"command": "guess"}', "not found", "`guess` is no command of a question"),
    ('{"command": "sweep", "model": "gpt2"}', "not found", "`sweep` is no command"),
    ('{"command": "memory"}', "argument", "`model` is missing"),
    ('{"command": "memory", "model": ""}', "argument", "`model` is missing"),
    ('{"command": "memory", "model": "-"}', "argument", "a question's model is a name"),
    ('{"command": "memory", "model": "gpt-2"}', "not found", "no model or file is called `gpt-2`"),
    ('{"command": "memory", "model": "/nowhere/config.json"}', "file", ""),
    ('{"command": "memory", "model": "gpt2", "seq_len": 8}', "not found", "`seq_len` is no option of a memory question: did you"),
    ('{"command": "memory", "model": "gpt2", "maximize": "batch"}', "not found", "`maximize` is no option of a memory question"),
    ('{"command": "time", "model": "gpt2", "device-memory": 7}', "not found", "`device-memory` is no option of a time question"),
    ('{"command": "memory", "model": "gpt2", "json": true}', "not found", "`json` is no option"),
    ('{"command": "memory", "model": "gpt2", "svg": "x.svg"}', "not found", "`svg` is no option"),
    ('{"command": "memory", "model": "gpt2", "must-fit": true}', "not found", "`must-fit` is no option"),
    ('{"command": "memory", "model": "gpt2", "help": true}', "not found", "`help` is no option"),
    ('{"command": "memory", "model": "gpt2", "batch": true}', "argument", "batch: a text or a number is expected"),
    ('{"command": "memory", "model": "gpt2", "batch": [1]}', "argument", "batch: a text or a number is expected"),
    ('{"command": "memory", "model": "gpt2", "batch": {}}', "argument", "batch: a text or a number is expected"),
    ('{"command": "memory", "model": "gpt2", "batch": null}', "argument", "batch: a text or a number is expected"),
    ('{"command": "memory", "model": "gpt2", "bind": [["H=1"]]}', "argument", "bind: a text or a number, or a list of them"),
    ('{"command": "memory", "model": "gpt2", "training": 1}', "argument", "training: true or false is expected"),
    ('{"command": "memory", "model": "gpt2", "training": "true"}', "argument", "training: true or false is expected"),
    ('{"command": "memory", "model": "gpt2", "batch": 1.5}', "argument", "batch: `1.5` is no whole number"),
    ('{"command": "memory", "model": "gpt2", "batch": 1e300}', "argument", "batch: `1"),
    ('{"command": "memory", "model": "gpt2", "batch": 99999999999999999999}', "format", "the line is no JSON object"),
    ('{"command": "memory", "model": "gpt2", "batch": 0, "seq-len": 8}', "argument", "batch: batch must be at least 1"),
    ('{"command": "memory", "model": "gpt2", "batch": -3, "seq-len": 8}', "argument", "batch: batch must be at least 1"),
    ('{"command": "memory", "model": "gpt2", "batch": 1099511627776, "seq-len": 1099511627776}', "overflow", ""),
    ('{"command": "memory", "model": "gpt2", "training": true, "entry": "loss_packed", "seq-len": 9223372036854775807, '
     '"context-parallel": 4}', "argument",
     "9223372036854775807 positions cannot be split over 4 processes: the nearest that can are 9223372036854775804"),
    ('{"command": "memory", "model": "gpt2", "seq-len": 8, "context": 9}', "argument", "seq-len is given as both `8` and `9`"),
    ('{"command": "memory", "model": "gpt2", "batch": 1, "seq-len": 8, "optimizer": "lion"}', "argument",
     "optimizer is about training"),
    ('{"command": "memory", "model": "gpt2", "device": "h100", "device-memory": "8GiB"}', "argument", "device and device-memory"),
    ('{"command": "memory", "model": "gpt2", "device": "abacus"}', "not found", "no device is called `abacus`"),
    ('{"command": "memory", "model": "gpt2", "training": true, "checkpoint": ["none", "block"]}', "argument",
     "a question has one checkpointing policy"),
    ('{"command": "memory", "model": "gpt2", "timeline": true}', "argument", "timeline is part of the whole document"),
    ('{"command": "memory", "model": "gpt2", "detail": "some"}', "argument", "detail: `compact` or `full` is expected"),
    ('{"command": "memory", "model": "gpt2", "detail": true}', "argument", "detail: `compact` or `full` is expected"),
    ('{"id": 1.5, "command": "memory", "model": "gpt2"}', "argument", "id: a text or a whole number is expected"),
    ('{"id": [], "command": "memory", "model": "gpt2"}', "argument", "id: a text or a whole number is expected"),
    ('{"command": "fit", "model": "gpt2", "device": "h200"}', "argument", "maximize is missing"),
    ('{"command": "fit", "model": "gpt2", "maximize": "batch"}', "argument", "device-memory is missing, or device"),
    ('{"command": "fit", "model": "gpt2", "maximize": "batch", "batch": 3, "seq-len": 8, "device": "h200"}', "argument",
     "the batch is given as 3"),
    ('{"command": "fit", "model": "gpt2", "maximize": "batch", "device-memory": "1GiB", "reserve": "2GiB"}', "argument",
     "a reserve of 2.00 GiB leaves nothing"),
    ('{"command": "time", "model": "gpt2", "batch": 1, "seq-len": 8}', "argument", "device is missing"),
    ('{"command": "memory", "model": "gpt2", "bind": [' + ",".join('"G=1"' for _ in range(300)) + "]}", "argument",
     "more than 256 values"),
    ('{"command": "memory", "model": "gpt2", "batch": ' + "[" * 3000 + "]" * 3000 + "}", "format", "the line is no JSON object"),
    ('{"command": "memory", "model": "' + "x" * (1 << 20) + '"}', "format", "the line is longer than 1 MiB"),
    ('{"command": "memory", "model": "\\u0000"}', "format", "the line is no JSON object"),
    (b'{"command": "memory", "model": "\xff\xfe"}', "format", "the line is no JSON object"),
    (b'{"command": "memory", "model": "\xed\xa0\x80"}', "format", "the line is no JSON object"),
    (b"\x00\x01\x02", "format", "the line is no JSON object"),
    ('{"command": "memory", "model": "gpt2", "batch": "' + "\u00fc" * 500 + '"}', "argument", "batch: `"),
]


class Skip(Exception):
    pass


def sweep(*arguments, text=b"", status=0, **more):
    done = subprocess.run([LINNET, "sweep", *map(str, arguments)], input=text, capture_output=True, timeout=240, env=ENVIRONMENT,
                          **more)
    assert done.returncode == status, f"exit status {done.returncode}, not {status}: {done.stderr.decode(errors='replace')}"
    return done.stdout


def refused(*arguments, text=b"", status=2):
    done = subprocess.run([LINNET, "sweep", *map(str, arguments)], input=text, capture_output=True, timeout=60, env=ENVIRONMENT)
    assert done.returncode == status, f"exit status {done.returncode}, not {status}"
    assert done.stdout == b"", "something was printed"
    return done.stderr.decode()


def lines_of(questions):
    return "".join(json.dumps(question) + "\n" for question in questions).encode()


def write(folder, questions, name="questions.jsonl"):
    path = folder / name
    path.write_bytes(questions if isinstance(questions, bytes) else lines_of(questions))
    return path


def objects(answers):
    assert answers.endswith(b"\n"), "the last line has no end"
    return [json.loads(line) for line in answers.decode().splitlines()]


def command_line(question):
    words = [LINNET, question["command"], question["model"], "--json"]
    for name, value in question.items():
        if name in ("command", "model") or value is False:
            continue
        for one in value if isinstance(value, list) else [value]:
            words.append(f"--{name}" if one is True else f"--{name}={one}")
    return words


def said(question):
    done = subprocess.run(command_line(question), capture_output=True, timeout=120, env=ENVIRONMENT)
    assert done.returncode in (0, 1), done.stderr.decode()
    return json.loads(done.stdout)


def many(count, seed=1):
    """Questions of every kind in no order, wrong ones among them; some have an id."""
    draw = random.Random(seed)
    questions = []
    for number in range(count):
        question = dict(draw.choice(ASKED))
        if "seq-len" in question and draw.random() < 0.8:
            question["seq-len"] = 64 * draw.randint(1, 20)
        if draw.random() < 0.2:
            question["id"] = draw.choice([number, f"q{number}", "\u00fc\"\\"])
        if draw.random() < 0.02:
            question["detail"] = "full"
        line = json.dumps(question).encode() if draw.random() < 0.9 else draw.choice(WRONG[:40])[0]
        questions.append(line if isinstance(line, bytes) else line.encode())
    return b"\n".join(questions) + b"\n"


# ---- answers


def whole_documents_are_the_commands(folder):
    answers = objects(sweep(write(folder, [{**question, "detail": "full"} for question in ASKED])))
    for question, answer in zip(ASKED, answers, strict=True):
        assert answer.get("result") == said(question), f"{question}: {answer}"


def compact_memory_is_the_document(folder):
    questions = [question for question in ASKED if question["command"] == "memory"]
    for question, answer in zip(questions, objects(sweep(write(folder, questions))), strict=True):
        whole = said(question)
        peak = {name: answer[name] for name in ("expected", "graph", "allocator", "confidence")}
        assert peak == {name: whole["peak"][name] for name in peak}, question
        assert answer["components"] == [{name: part[name] for name in ("name", "category", "bytes", "confidence")}
                                        for part in whole["components"] if part["bytes"] is not None], question
        assert answer["unknown"] == whole["unknown"] and answer.get("warnings", []) == whole["warnings"], question
        assert answer.get("verdict") == whole.get("verdict", {}).get("verdict"), question
        assert answer.get("device_memory") == whole.get("verdict", {}).get("device_memory"), question
        peaks = [device["expected_peak"] for device in whole["devices"]]
        assert answer.get("devices", peaks[:1]) == peaks, question


def compact_fit_is_the_document(folder):
    questions = [question for question in ASKED if question["command"] == "fit"]
    for question, answer in zip(questions, objects(sweep(write(folder, questions))), strict=True):
        whole = said(question)
        for name in ("target", "value", "budget", "headroom", "limited_by"):
            assert answer[name] == whole[name], f"{question}: {answer}"
        assert whole["result"] is None or answer["expected_peak"] == whole["result"]["peak"]["expected"], question


def compact_time_is_the_document(folder):
    questions = [question for question in ASKED if question["command"] == "time"]
    for question, answer in zip(questions, objects(sweep(write(folder, questions))), strict=True):
        whole = said(question)
        for name, value in whole["throughput"].items():
            assert name not in answer or answer[name] == value, f"{name}: {answer} {whole['throughput']}"
        assert answer["tokens_per_second"] > 0 and answer["expected_peak"] == whole["memory"]["expected_peak"]
        assert answer["hardware_utilisation"] == whole["utilisation"]["hardware"]


def a_size_that_contradicts_a_binding_is_refused(folder):
    """Whatever was answered before with the same options: each size is looked at."""
    generics = {"batch": ("B", "Batch"), "seq-len": ("S", "P", "Seq", "SeqLen"), "cache-len": ("MaxSeq",)}
    for size, names in generics.items():
        for name in names:
            program = f"module t\npub entry f<{name}: Dim>(x: Tensor[{name}; f32]) -> Tensor[{name}; f32] {{\n    return x + x\n}}\n"
            (folder / "t.linnet").write_text(program)
            questions = [{"command": "memory", "model": "t.linnet", "bind": f"{name}=4", size: value} for value in (4, 5, 4)]
            first, second, third = objects(sweep(write(folder, questions), cwd=folder))
            assert "expected" in first and "expected" in third, first
            assert "cannot be bound to another value" in second["error"]["message"], second


def wrong_lines_are_answers(folder):
    text = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line, _, _ in WRONG)
    answers = objects(sweep(write(folder, text + lines_of(ASKED[:1]))))
    assert len(answers) == len(WRONG) + 1 and "expected" in answers[-1]
    for number, ((line, status, begin), answer) in enumerate(zip(WRONG, answers), 1):
        shown = f"{line[:100]!r}: {answer}"
        assert list(answer) == ["line", "error"] and answer["line"] == number, shown
        assert list(answer["error"]) == ["status", "message"] and answer["error"]["status"] == status, shown
        assert answer["error"]["message"].startswith(begin), shown


def an_id_takes_the_number_s_place(folder):
    ids = ["a", "", "\u00fc \"\\\n", 7, -1, 9007199254740993]
    questions = [{"command": "memory", "model": "gpt2", "batch": 1, "seq-len": 8, "id": name} for name in ids]
    questions += [{**question, "batch": 0} for question in questions]
    answers = objects(sweep(write(folder, questions)))
    assert [answer["id"] for answer in answers] == ids * 2
    assert all(list(answer)[0] == "id" and "line" not in answer for answer in answers)


def a_program_s_error_has_its_place(folder):
    (folder / "t.linnet").write_text("module t\npub entry f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {\n    return x + y\n}\n")
    (answer,) = objects(sweep(write(folder, [{"command": "memory", "model": "t.linnet", "bind": "N=4"}]), cwd=folder))
    assert answer["error"]["status"] == "source" and answer["error"]["message"].startswith("t.linnet:3:16: "), answer


def the_environment_is_read(folder):
    question = write(folder, [{"command": "memory", "model": "gpt2", "batch": 1, "seq-len": 8}])
    plain, other = (json.loads(subprocess.run([LINNET, "sweep", question], capture_output=True, env={**ENVIRONMENT, **more}).stdout)
                    for more in ({}, {"CUBLAS_WORKSPACE_CONFIG": ":16:8"}))
    assert plain["expected"] - other["expected"] == (32 << 20) - (128 << 10), (plain, other)


# ---- however they are made


def any_threads(folder):
    questions = write(folder, many(600))
    one = sweep(questions)
    assert sweep(questions, "--threads", 2) == one, "two threads"
    assert sweep(questions, "--threads", 7) == one, "seven threads"


def any_order(folder):
    """The same questions in another order: an answer depends on nothing before it."""
    questions = [{**question, "id": number} for number, question in enumerate(ASKED * 3)]
    forward = sweep(write(folder, questions)).splitlines()
    shuffled = list(enumerate(questions))
    random.Random(2).shuffle(shuffled)
    back = sweep(write(folder, [question for _, question in shuffled]), "--threads", 2).splitlines()
    for (number, _), line in zip(shuffled, back, strict=True):
        assert line == forward[number], line


def any_parts(folder):
    text = many(101, seed=3)
    whole = sweep(write(folder, text))
    for end in b"\n", b"":
        questions = write(folder, text[:-1] + end)
        for parts in 1, 2, 3, 7, 150:
            made = [sweep(questions, "--part", f"{part}/{parts}") for part in range(1, parts + 1)]
            assert b"".join(made) == whole, f"{parts} parts"
            lengths = [part.count(b"\n") for part in made]
            assert max(lengths) - min(lengths) <= 1, lengths


def standard_input_and_ends_of_lines(folder):
    questions = many(80, seed=4)
    whole = sweep(write(folder, questions))
    assert sweep("-", text=questions) == whole, "a pipe"
    assert sweep("-", stdin=open(write(folder, questions), "rb"), text=None) == whole, "a file"
    assert sweep("-", text=questions[:-1]) == whole, "no end of the last line"
    with_mark = b"\xef\xbb\xbf" + lines_of(ASKED[:2]).replace(b"\n", b"\r\n")
    assert sweep("-", text=with_mark) == sweep("-", text=lines_of(ASKED[:2])), "a mark, and carriage returns"


def a_line_longer_than_the_buffer(folder):
    text = b'{"x": "' + b"y" * (9 << 20) + b'"}\n' + lines_of(ASKED[:1]) + b"z" * (5 << 20)
    for answers in sweep(write(folder, text)), sweep("-", text=lines_of(ASKED[:1]) + text):
        found = objects(answers)[-3:]
        assert [list(answer)[1] for answer in found] == ["error", "command", "error"], found
        assert found[0]["error"]["message"] == found[2]["error"]["message"] == "the line is longer than 1 MiB"


def a_pipe_is_answered_as_it_comes(folder):
    with subprocess.Popen([LINNET, "sweep", "-", "--threads", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=ENVIRONMENT) as running:
        for question in ASKED[:3]:
            running.stdin.write(lines_of([question]))
            running.stdin.flush()
            assert b"expected" in running.stdout.readline()
        running.stdin.close()
        assert running.wait(60) == 0


# ---- resuming


def resumes_after_every_cut(folder):
    questions, out = write(folder, many(40, seed=5)), folder / "answers.jsonl"
    whole = sweep(questions)
    ends = [match.end() for match in re.finditer(b"\n", whole)]
    cuts = {0, 1, 5, 8, len(whole)}
    for end in ends[:3] + ends[-3:]:
        cuts |= {end - 2, end - 1, end, end + 1, end + 9}
    for cut in sorted(cut for cut in cuts if cut <= len(whole)):
        out.write_bytes(whole[:cut])
        assert sweep(questions, "--output", out, "--resume", "--threads", 1 + cut % 2) == b""
        assert out.read_bytes() == whole, f"cut after {cut} bytes"


def resumes_a_part(folder):
    questions, out = write(folder, many(50, seed=6)), folder / "answers.jsonl"
    whole = sweep(questions, "--part", "2/3")
    out.write_bytes(whole[:len(whole) // 2])
    sweep(questions, "--part", "2/3", "--output", out, "--resume")
    assert out.read_bytes() == whole


def resumes_from_nothing(folder):
    questions, out = write(folder, ASKED[:3]), folder / "answers.jsonl"
    sweep(questions, "--output", out, "--resume")
    assert out.read_bytes() == sweep(questions)
    stamp = out.stat().st_mtime_ns
    sweep(questions, "--output", out, "--resume")
    assert out.read_bytes() == sweep(questions) and stamp <= out.stat().st_mtime_ns


def refuses_to_resume_another_file(folder):
    questions, out = write(folder, ASKED[:5]), folder / "answers.jsonl"
    whole = sweep(questions)
    others = {
        b"notes\n": "line 1 is no answer", b"notes": "line 1 is no answer", b"\0": "line 1 is no answer",
        whole + b"{}\n": "line 6 is no answer",
        whole.replace(b'{"line":5,', b'{"line":6,'): "answer 5 is not of line 5",
        whole.replace(b'{"line":5,', b'{"id":"5",'): "answer 5 is not of line 5",
        whole + whole[:whole.index(b"\n") + 1]: "more answers than questions",
    }
    for text, words in others.items():
        out.write_bytes(text)
        assert words in refused(questions, "--output", out, "--resume", status=3), text
        assert out.read_bytes() == text, "the file was changed"


def interrupted(folder, number, *arguments):
    """Starts a sweep, sends a signal in the middle of it, and finds whole lines."""
    questions, out = write(folder, many(3000, seed=7)), folder / "answers.jsonl"
    out.write_bytes(b"")
    with subprocess.Popen([LINNET, "sweep", questions, "--output", out, *arguments], stderr=subprocess.PIPE,
                          env=ENVIRONMENT) as running:
        deadline = time.monotonic() + 60
        while out.stat().st_size == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        running.send_signal(number)
        words = running.stderr.read().decode()
        assert running.wait(60) in (-number, 0), running.returncode
    return questions, out, running.returncode, words


def an_interruption_leaves_whole_lines(folder):
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        questions, out, status, words = interrupted(folder, number, "--threads", "2")
        text = out.read_bytes()
        assert text.endswith(b"\n"), "half a line"
        if status != 0:
            assert "--resume continues" in words, words
    whole = sweep(questions, "--threads", 2)
    assert whole.startswith(text)
    sweep(questions, "--output", out, "--resume", "--threads", 2)
    assert out.read_bytes() == whole


def a_kill_loses_nothing(folder):
    questions, out, _, _ = interrupted(folder, signal.SIGKILL)
    sweep(questions, "--output", out, "--resume", "--threads", 2)
    assert out.read_bytes() == sweep(questions, "--threads", 2)


def an_ignored_signal_is_ignored(folder):
    questions, out = write(folder, many(400, seed=8)), folder / "answers.jsonl"
    out.write_bytes(b"")
    with subprocess.Popen([LINNET, "sweep", questions, "--output", out], env=ENVIRONMENT,
                          preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as running:
        while out.stat().st_size == 0 and running.poll() is None:
            time.sleep(0.01)
        running.send_signal(signal.SIGHUP)
        assert running.wait(60) == 0
    assert out.read_bytes() == sweep(questions)


def waits_for_input_until_a_signal(folder):
    with subprocess.Popen([LINNET, "sweep", "-"], stdin=subprocess.PIPE, env=ENVIRONMENT) as running:
        time.sleep(0.2)
        running.send_signal(signal.SIGTERM)
        assert running.wait(20) == -signal.SIGTERM


# ---- files and command lines


def no_question_at_all(folder):
    for text in b"", b"\n\n", b"nonsense\n" * 9, b"[]\n[]\n", b"{\n}\n", os.urandom(1 << 16).replace(b"{", b""), b"x" * (6 << 20):
        assert "no line is a JSON object" in refused(write(folder, text), status=3)
        assert "no line is a JSON object" in refused("-", text=text, status=3)
    out = folder / "answers.jsonl"
    out.write_bytes(b"kept")
    refused(write(folder, b"nonsense\n"), "--output", out, status=3)
    assert out.read_bytes() == b"kept", "the output was changed"


def a_question_after_much_else(folder):
    text = b"nonsense\n" * 1000000 + lines_of(ASKED[:1])
    assert b"expected" in sweep(write(folder, text), "--threads", 2).splitlines()[-1]


def wrong_command_lines(folder):
    questions = write(folder, ASKED[:1])
    assert "a file of questions is missing" in refused()
    assert "one file of questions at a time" in refused(questions, questions)
    assert "--output is missing" in refused(questions, "--resume")
    for value in "0/2", "3/2", "1", "1/", "/2", "1/2/3", "-1/2", "1/9999999", "a/b", "":
        assert "is no part such as 2/8" in refused(questions, "--part", value), value
    for value in "0", "-1", "1025":
        assert "is no count of threads" in refused(questions, "--threads", value), value
    assert "is no whole number" in refused(questions, "--threads", "two")
    assert "names no file" in refused(questions, "--output", "")
    assert "a part of the questions needs a file" in refused("-", "--part", "1/2", text=lines_of(ASKED), status=3)
    assert "No such file" in refused(folder / "none.jsonl", status=3)
    assert "directory" in refused(folder, status=3)


def places_that_cannot_be_written(folder):
    questions = write(folder, ASKED[:1])
    assert "No such file" in refused(questions, "--output", folder / "none" / "a.jsonl", status=3)
    assert "directory" in refused(questions, "--output", folder, status=3)
    before = questions.read_bytes()
    assert "into the questions" in refused(questions, "--output", questions, status=3)
    assert questions.read_bytes() == before, "the questions are gone"
    assert "regular file" in refused(questions, "--output", "/dev/null", "--resume", status=3)
    sweep(questions, "--output", "/dev/null")
    if os.path.exists("/dev/full"):
        assert "No space left" in refused(questions, "--output", "/dev/full", status=3)


def one_sweep_at_a_time_writes_a_file(folder):
    questions, out = write(folder, ASKED[:1]), folder / "answers.jsonl"
    with open(out, "wb") as held:
        fcntl.lockf(held, fcntl.LOCK_EX)
        assert "another sweep is writing it" in refused(questions, "--output", out, status=3)
    sweep(questions, "--output", out)


# ---- several processes


def mpirun(count, *arguments, status=0, **more):
    if shutil.which("mpirun") is None:
        raise Skip("no mpirun (Debian: openmpi-bin)")
    if not (pathlib.Path(LINNET).parent / "linnet-mpi.so").exists():
        raise Skip("built without the module (Debian: libopenmpi-dev)")
    # Open MPI leaves blocks of its own behind, which a build with a leak checker would report.
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(["mpirun", "--oversubscribe", "-n", str(count), LINNET, "sweep", *map(str, arguments)],
                          capture_output=True, timeout=240, env={**ENVIRONMENT, **as_root}, **more)
    assert done.returncode == status, f"exit status {done.returncode}: {done.stderr.decode(errors='replace')}"
    return done.stdout, done.stderr.decode(errors="replace")


def four_processes(folder):
    questions, out = write(folder, many(400, seed=9)), folder / "answers.jsonl"
    mpirun(4, questions, "--output", out)
    assert out.read_bytes() == sweep(questions)


def four_processes_to_standard_output(folder):
    questions = write(folder, ASKED)
    assert mpirun(4, questions)[0] == sweep(questions)


def two_processes_of_two_threads_resume_a_part(folder):
    questions, out = write(folder, many(200, seed=10)), folder / "answers.jsonl"
    whole = sweep(questions, "--part", "1/2")
    out.write_bytes(whole[:len(whole) * 2 // 3])
    mpirun(2, questions, "--part", "1/2", "--threads", 2, "--output", out, "--resume")
    assert out.read_bytes() == whole


def one_process_under_a_launcher(folder):
    questions = write(folder, ASKED[:3])
    assert mpirun(1, questions)[0] == sweep(questions)


def processes_read_standard_input(folder):
    text = lines_of(ASKED)
    assert mpirun(3, "-", input=text)[0] == sweep("-", text=text)


def processes_end_when_there_is_no_question(folder):
    assert "no line is a JSON object" in mpirun(3, write(folder, b"nonsense\n"), status=3)[1]


def a_launcher_without_the_module(folder):
    """A copy of the program alone: each of its processes would do all of the work."""
    alone = folder / "linnet"
    shutil.copy(LINNET, alone)
    if any(pathlib.Path("/usr/local/lib").rglob("linnet-mpi.so")) or any(pathlib.Path("/usr/lib").glob("*/linnet/linnet-mpi.so")):
        raise Skip("the module is installed")
    environment = {**ENVIRONMENT, "OMPI_COMM_WORLD_SIZE": "2", "LD_LIBRARY_PATH": str(pathlib.Path(LINNET).parents[1] / "lib")}
    done = subprocess.run([alone, "sweep", write(folder, ASKED[:1])], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 4 and "this is one of 2 processes" in done.stderr and done.stdout == "", done


def the_program_links_no_mpi(folder):
    if shutil.which("ldd") is None:
        raise Skip("no ldd")
    libraries = subprocess.run(["ldd", LINNET], capture_output=True, text=True).stdout
    assert "libmpi" not in libraries, libraries


TESTS = [whole_documents_are_the_commands, compact_memory_is_the_document, compact_fit_is_the_document,
         compact_time_is_the_document, a_size_that_contradicts_a_binding_is_refused, wrong_lines_are_answers,
         an_id_takes_the_number_s_place, a_program_s_error_has_its_place, the_environment_is_read, any_threads, any_order, any_parts,
         standard_input_and_ends_of_lines, a_line_longer_than_the_buffer, a_pipe_is_answered_as_it_comes, resumes_after_every_cut,
         resumes_a_part, resumes_from_nothing, refuses_to_resume_another_file, an_interruption_leaves_whole_lines,
         a_kill_loses_nothing, an_ignored_signal_is_ignored, waits_for_input_until_a_signal, no_question_at_all,
         a_question_after_much_else, wrong_command_lines, places_that_cannot_be_written, one_sweep_at_a_time_writes_a_file,
         four_processes, four_processes_to_standard_output, two_processes_of_two_threads_resume_a_part,
         one_process_under_a_launcher, processes_read_standard_input, processes_end_when_there_is_no_question,
         a_launcher_without_the_module, the_program_links_no_mpi]


def run(test):
    with tempfile.TemporaryDirectory() as folder:
        try:
            test(pathlib.Path(folder))
        except Skip as reason:
            return f" # SKIP {reason}", None
        except (AssertionError, ValueError, KeyError, subprocess.TimeoutExpired) as wrong:
            return "", f"{type(wrong).__name__}: {wrong}"
    return "", None


def main():
    print(f"1..{len(TESTS)}")
    failed = 0
    for number, test in enumerate(TESTS, 1):
        note, wrong = run(test)
        failed += wrong is not None
        print(f"{'ok' if wrong is None else 'not ok'} {number} - {test.__name__.replace('_', ' ')}{note}", flush=True)
        if wrong is not None:
            print("\n".join("# " + line[:2000] for line in wrong.splitlines()[:20]), flush=True)
    return 1 if failed else 0


sys.exit(main())

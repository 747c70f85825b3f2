#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`linnet memory --svg` and `--html`: what is written where, and how a browser shows it: pictures.py LINNET.

The browser is headless Chromium (Debian's `chromium`); without one its tests are skipped. It runs the page's script, shows
the document that comes of it, and takes screenshots in light and in dark.
"""
import html.parser
import json
import os
import pathlib
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
import zlib

LINNET = sys.argv[1]
TRAINING = ["tinyllama-1.1b-chat", "--entry", "loss_packed", "--seq-len", "8192", "--training", "--checkpoint", "block"]
SMALL = ["gpt2", "--batch", "1", "--seq-len", "64"]
PROGRAM = """module t
pub entry f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {
    return x + x
}
"""
HOSTILE = "<img src=x onerror='document.body.dataset.bad=1'>\"&amp;.linnet"
FORBIDDEN_NETWORK = ("http:", "https:", "//", "url(", "@import")
KEYS = """<script>
setTimeout(() => {
    const chart = document.querySelector(".chart");
    const press = (key) => chart.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    chart.focus();
    ["+", "+", "+", "ArrowRight", "ArrowRight", "ArrowRight"].forEach(press);
}, 100);
</script></body>"""
LIGHT, DARK = [], ["--force-dark-mode"]


class Skip(Exception):
    pass


def linnet(*arguments, status=0):
    done = subprocess.run([LINNET, "memory", *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == status, f"exit status {done.returncode}, not {status}: {done.stderr}"
    return done.stdout, done.stderr


def write(folder, *arguments, kind="html"):
    path = folder / f"picture.{kind}"
    linnet(*arguments, f"--{kind}", str(path))
    return path


# ---- files


def written_beside_the_report(folder):
    out, _ = linnet(*SMALL, "--html", str(folder / "a.html"), "--svg", str(folder / "a.svg"))
    assert out == linnet(*SMALL)[0], "the report differs"
    assert sorted(os.listdir(folder)) == ["a.html", "a.svg"], os.listdir(folder)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((folder / "a.html").stat().st_mode) == 0o666 & ~mask, "other rights than a new file has"


def standard_output_in_place_of_the_report(folder):
    for kind, start in ("html", "<!DOCTYPE html>"), ("svg", "<svg "):
        out, _ = linnet(*SMALL, f"--{kind}", "-")
        assert out.startswith(start) and "Expected peak  " not in out
        assert out == write(folder, *SMALL, kind=kind).read_text(), "the file holds something else"


def the_json_has_no_timeline_of_its_own(folder):
    out, _ = linnet(*SMALL, "--json", "--html", str(folder / "a.html"))
    assert "timeline" not in json.loads(out)
    assert out == linnet(*SMALL, "--json")[0]


def no_such_folder(folder):
    path = folder / "missing" / "a.html"
    out, err = linnet(*SMALL, "--html", str(path), status=3)
    assert out == "" and err == f"linnet: {path}: No such file or directory\n", err
    assert os.listdir(folder) == []


def a_folder_in_the_way(folder):
    _, err = linnet(*SMALL, "--html", str(folder), status=3)
    assert err == f"linnet: {folder}: Is a directory\n", err
    assert os.listdir(folder) == []


def a_file_that_may_not_be_written(folder):
    path = folder / "a.html"
    path.write_text("old")
    path.chmod(0o444)
    if os.access(path, os.W_OK):
        raise Skip("this user may write anything")
    linnet(*SMALL, "--html", str(path), status=3)
    assert path.read_text() == "old" and os.listdir(folder) == ["a.html"]


def a_full_disk(folder):
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full")
    _, err = linnet(*SMALL, "--html", "/dev/full", status=3)
    assert err == "linnet: /dev/full: No space left on device\n", err
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode), "the device is gone"


def a_link_is_followed(folder):
    (folder / "real.html").write_text("old")
    (folder / "link.html").symlink_to("real.html")
    linnet(*SMALL, "--html", str(folder / "link.html"))
    assert (folder / "link.html").is_symlink()
    assert (folder / "real.html").read_text().startswith("<!DOCTYPE html>")


def wrong_command_lines(folder):
    path = str(folder / "a.html")
    for arguments in (["--svg", "-", "--html", "-"], ["--html", path, "--svg", path], ["--html", ""],
                      ["--must-fit"], ["--html", path, "--device-memory", "0"],
                      ["--html", path, "--device-memory", "much"]):
        linnet(*SMALL, *arguments, status=2)
    _, err = linnet(*TRAINING, "--checkpoint", "none", "--html", path, status=2)
    assert "--html shows one policy" in err, err
    assert os.listdir(folder) == []


# ---- what is in them


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def all(self, tag, name=None, value=None):
        return [attrs for found, attrs in self.found
                if found == tag and (name is None or value in (attrs.get(name) or "").split())]


def svg_is_xml(folder):
    root = xml.etree.ElementTree.parse(write(folder, *TRAINING, kind="svg")).getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == space + "svg" and root.get("role") == "img"
    assert "tinyllama-1.1b-chat" in root.find(space + "title").text
    assert "At the peak" in root.find(space + "desc").text
    bands = [path for path in root.iter(space + "path") if "band" in path.get("class").split()]
    assert len(bands) == 9, len(bands)


def page_needs_no_network(folder):
    text = write(folder, *TRAINING, "--device-memory", "80GiB").read_text()
    assert len(text) < 300_000, f"{len(text)} bytes"
    without = text.replace("http://www.w3.org/2000/svg", "").replace("url(#plot)", "")
    code = "".join(line for line in without.splitlines() if not line.lstrip().startswith("//"))
    for word in FORBIDDEN_NETWORK:
        assert word not in code, word
    tags = Tags(text)
    assert not any("src" in attrs or "href" in attrs for _, attrs in tags.found)
    assert tags.all("svg", "class", "picture"), "nothing to see without a script"


def table_is_the_report(folder):
    text = write(folder, *TRAINING).read_text()
    report = json.loads(linnet(*TRAINING, "--json")[0])
    body = text.split('<table id="components">')[1].split("<tbody>")[1].split("</tbody>")[0]
    assert body.count("<tr>") == len(report["components"])
    for component in report["components"]:
        if component["bytes"] is not None:
            assert f'title="{component["bytes"]} bytes"' in body, component["name"]


# ---- in a browser


def browser():
    for name in "chromium", "chromium-browser", "google-chrome":
        if shutil.which(name):
            return shutil.which(name)
    raise Skip("no headless browser (Debian: chromium)")


def browse(path, *arguments):
    with tempfile.TemporaryDirectory() as profile:
        command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                   f"--user-data-dir={profile}", "--virtual-time-budget=4000", *arguments, path.as_uri()]
        done = subprocess.run(command, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout.decode()


def timeline_of(dom):
    return next(attrs for tag, attrs in dom.found if attrs.get("id") == "timeline")


def script_fills_the_page(folder):
    path = write(folder, *TRAINING, "--device-memory", "9GiB")
    dom = Tags(browse(path, "--dump-dom"))
    timeline = timeline_of(dom)
    assert timeline["data-state"] == "ready", timeline
    bands = [attrs for attrs in dom.all("path", "class", "band")]
    assert len(bands) == int(timeline["data-bands"]) == 9, len(bands)
    chart = dom.all("div", "class", "chart")[0]
    assert chart["role"] == "slider" and chart["tabindex"] == "0" and "GiB" in chart["aria-valuetext"]
    assert chart["aria-valuenow"] == "1060" and timeline["data-cursor"] == "1060", "the cursor starts at the peak"
    assert len(dom.all("path", "class", "capacity")) == 1
    assert len(dom.all("rect", "class", "phase")) == 47
    assert {attrs.get("scope") for attrs in dom.all("th")} == {"col", "row"}


def keys_move_and_zoom(folder):
    path = write(folder, *TRAINING)
    path.write_text(path.read_text().replace("</body>", KEYS))
    timeline = timeline_of(Tags(browse(path, "--dump-dom")))
    assert timeline["data-cursor"] == "1063", timeline
    first, end = int(timeline["data-first"]), int(timeline["data-end"])
    assert first <= 1060 < end and 300 < end - first < 500, timeline


def names_stay_text(folder):
    program = folder / HOSTILE.replace("/", "")
    program.write_text(PROGRAM)
    path = folder / "a.html"
    linnet(str(program), "--bind", "N=4", "--html", str(path))
    dom = Tags(browse(path, "--dump-dom"))
    assert timeline_of(dom)["data-state"] == "ready"
    assert not dom.all("img"), "a name became an element"
    assert not any("data-bad" in attrs for _, attrs in dom.found), "a name ran"


# ---- screenshots


def unfilter(kind, line, above, step):
    for i, value in enumerate(line):
        left = line[i - step] if i >= step else 0
        up = above[i]
        corner = above[i - step] if i >= step else 0
        if kind == 1:
            value += left
        elif kind == 2:
            value += up
        elif kind == 3:
            value += (left + up) // 2
        elif kind == 4:
            guess = left + up - corner
            near = [abs(guess - left), abs(guess - up), abs(guess - corner)]
            value += (left, up, corner)[near.index(min(near))]
        line[i] = value & 255


def pixels(path):
    """Rows of a PNG of 8 bits a channel, and bytes a pixel."""
    data = path.read_bytes()
    width, height, depth, colour = struct.unpack(">IIBB", data[16:26])
    assert depth == 8 and colour in (2, 6), (depth, colour)
    step, at, packed = (3 if colour == 2 else 4), 8, b""
    while at < len(data):
        size, = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += size + 12
    raw, rows, above = zlib.decompress(packed), [], bytearray(width * step)
    for y in range(height):
        start = y * (width * step + 1)
        line = bytearray(raw[start + 1:start + 1 + width * step])
        unfilter(raw[start], line, above, step)
        rows.append(line)
        above = line
    return rows, step


def look(path, folder, mode, ground, colours):
    """The page has the mode's ground, and shows each of the colours."""
    shot = folder / "shot.png"
    browse(path, f"--screenshot={shot}", "--window-size=1000,900", *mode)
    rows, step = pixels(shot)
    counts = {}
    for row in rows[::3]:
        for i in range(0, len(row), step * 3):
            pixel = tuple(row[i:i + 3])
            counts[pixel] = counts.get(pixel, 0) + 1
    assert max(counts, key=counts.get) == ground, max(counts, key=counts.get)
    for colour in colours:
        assert counts.get(colour, 0) > 100, f"too little of {colour}: {counts.get(colour, 0)}"


BLUE, PURPLE, ROSE, GREEN = (0, 114, 178), (136, 34, 85), (170, 68, 153), (0, 158, 115)
WHITE, NIGHT = (255, 255, 255), (21, 24, 29)


def page_in_light(folder):
    look(write(folder, *TRAINING), folder, LIGHT, WHITE, [BLUE, PURPLE, GREEN])


def page_in_dark(folder):
    look(write(folder, *TRAINING), folder, DARK, NIGHT, [BLUE, ROSE, GREEN])


def svg_in_light(folder):
    look(write(folder, *TRAINING, kind="svg"), folder, LIGHT, WHITE, [BLUE, PURPLE, GREEN])


def svg_in_dark(folder):
    look(write(folder, *TRAINING, kind="svg"), folder, DARK, NIGHT, [BLUE, ROSE, GREEN])


TESTS = [written_beside_the_report, standard_output_in_place_of_the_report, the_json_has_no_timeline_of_its_own,
         no_such_folder, a_folder_in_the_way, a_file_that_may_not_be_written, a_full_disk, a_link_is_followed,
         wrong_command_lines, svg_is_xml, page_needs_no_network, table_is_the_report, script_fills_the_page,
         keys_move_and_zoom, names_stay_text, page_in_light, page_in_dark, svg_in_light, svg_in_dark]


def run(test):
    with tempfile.TemporaryDirectory() as folder:
        try:
            test(pathlib.Path(folder))
        except Skip as reason:
            return f" # SKIP {reason}", None
        except (AssertionError, subprocess.TimeoutExpired, xml.etree.ElementTree.ParseError) as wrong:
            return "", str(wrong) or "an assertion failed"
    return "", None


def main():
    print(f"1..{len(TESTS)}")
    failed = 0
    for number, test in enumerate(TESTS, 1):
        note, wrong = run(test)
        failed += wrong is not None
        print(f"{'ok' if wrong is None else 'not ok'} {number} - {test.__name__.replace('_', ' ')}{note}", flush=True)
        if wrong is not None:
            print("\n".join("# " + line for line in wrong.splitlines()[:20]), flush=True)
    return 1 if failed else 0


sys.exit(main())

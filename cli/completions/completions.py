#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the completions of bash, zsh and fish from the program's own --help: completions.py LINNET SHELL OUT."""
import re
import subprocess
import sys


def help_of(linnet, *words):
    return subprocess.run([linnet, *words, "--help"], capture_output=True, text=True, check=True).stdout


def read_tables(linnet):
    top = help_of(linnet)
    section = top.split("Commands:\n")[1].split("\n\n")[0]
    commands = re.findall(r"^  ([a-z]+) .{12}(.*)$", section, re.M)
    tables = {}
    for name, summary in commands:
        options = re.findall(r"^  --([a-z-]+)(?: (\S+))?", help_of(linnet, name), re.M)
        tables[name] = (summary, options)
    return tables


def bash(tables):
    lines = ["_linnet() {", '    local word=${COMP_WORDS[COMP_CWORD]} words=', '    case ${COMP_WORDS[1]} in']
    for name, (_, options) in tables.items():
        lines.append(f"    {name}) words='{' '.join('--' + o for o, _ in options)}' ;;")
    lines += ["    esac", "    if [ $COMP_CWORD -eq 1 ]; then", f"        words='{' '.join(tables)} help'", "    fi",
              '    COMPREPLY=($(compgen -W "$words" -- "$word"))',
              '    [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))', "}", "complete -F _linnet linnet"]
    return "\n".join(lines) + "\n"


def zsh(tables):
    lines = ["#compdef linnet", "if (( CURRENT == 2 )); then", f"    compadd {' '.join(tables)} help", "    return", "fi",
             "case $words[2] in"]
    for name, (_, options) in tables.items():
        lines.append(f"{name}) compadd -- {' '.join('--' + o for o, _ in options)}; _files ;;")
    return "\n".join(lines + ["esac"]) + "\n"


def fish(tables):
    lines = []
    for name, (summary, options) in tables.items():
        lines.append(f"complete -c linnet -n __fish_use_subcommand -a {name} -d '{summary}'")
        for option, argument in options:
            lines.append(f"complete -c linnet -n '__fish_seen_subcommand_from {name}' -l {option}" + (" -r" if argument else ""))
    return "\n".join(lines) + "\n"


def main():
    linnet, shell, out = sys.argv[1:]
    with open(out, "w", encoding="utf-8") as file:
        file.write({"bash": bash, "zsh": zsh, "fish": fish}[shell](read_tables(linnet)))


main()

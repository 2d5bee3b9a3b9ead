"""Print a script that lets a shell complete the words of `tapec`: commands, options, and what options may be."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

from tapec.cli.lazy import whole_parser
from tapec.cli.terminal import show

HELP = "print a script that completes words in your shell"
EXAMPLES = """\
examples:
  eval "$(tapec completion bash)"         in ~/.bashrc
  eval "$(tapec completion zsh)"          in ~/.zshrc, after compinit
  tapec completion fish | source          in ~/.config/fish/config.fish"""

SHELLS = ("bash", "zsh", "fish")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS)


def run(options: argparse.Namespace) -> None:
    commands = {name: (about, list(described(sub))) for name, about, sub in whole_parser().described()}
    show("\n".join({"bash": bash, "zsh": zsh, "fish": fish}[options.shell](commands)))


Commands = dict[str, tuple[str, list[Any]]]


def described(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Return the options and positional words of a command that its help shows."""
    return (action for action in parser._actions if action.help != argparse.SUPPRESS)


def choices(action: argparse.Action) -> list[str]:
    return [str(choice) for choice in action.choices or ()]


def options_of(actions: Iterable[argparse.Action]) -> list[str]:
    return [text for action in actions for text in action.option_strings]


def takes_value(action: argparse.Action) -> bool:
    return action.nargs != 0


def about(action: argparse.Action) -> str:
    """Return the first words of an option's help, on one line."""
    text = " ".join((action.help or "").replace("%(default)s", str(action.default)).split())
    return text.partition(": ")[0].partition(" (")[0]


# -- bash -------------------------------------------------------------------------------------------------------------
def bash(commands: Commands) -> Iterator[str]:
    yield from (
        "_tapec() {",
        '    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=""',
        '    if [ "$COMP_CWORD" -eq 1 ]; then',
        f'        words="{" ".join(commands)} --help --version"',
        "    else",
        '        case "${COMP_WORDS[1]} $prev" in',
    )
    for name, (_, actions) in commands.items():
        for action in actions:
            if action.option_strings and action.choices:
                patterns = "|".join([f'"{name} {text}"' for text in action.option_strings])
                yield f'            {patterns}) words="{" ".join(choices(action))}" ;;'
    yield from ("        esac", '        if [ -z "$words" ]; then', '            case "${COMP_WORDS[1]} $cur" in')
    for name, (_, actions) in commands.items():
        yield f'                "{name} -"*) words="{" ".join(options_of(actions))}" ;;'
        for action in actions:
            if not action.option_strings and action.choices:
                yield f'                "{name} "*) words="{" ".join(choices(action))}" ;;'
    yield from (
        "            esac",
        "        fi",
        "    fi",
        '    if [ -n "$words" ]; then',
        '        COMPREPLY=($(compgen -W "$words" -- "$cur"))',
        "    else",
        "        compopt -o filenames 2>/dev/null",
        '        COMPREPLY=($(compgen -f -- "$cur"))',
        "    fi",
        "}",
        "complete -F _tapec tapec",
    )


# -- zsh --------------------------------------------------------------------------------------------------------------
def zsh(commands: Commands) -> Iterator[str]:
    yield from ("#compdef tapec", "_tapec() {", "    local -a commands=(")
    for name, (told, _) in commands.items():
        yield f"        {_quoted(f'{name}:{told}')}"
    yield from (
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe command commands",
        "        return",
        "    fi",
        "    local command=$words[2]",
        "    words=(${words[2,-1]})",
        "    (( CURRENT-- ))",
        "    case $command in",
    )
    for name, (_, actions) in commands.items():
        yield f"        {name}) _arguments \\"
        for action in actions:
            for line in _zsh_specs(action):
                yield f"            {_quoted(line)} \\"
        yield "            ;;"
    yield from ("    esac", "}", "compdef _tapec tapec")


def _zsh_specs(action: argparse.Action) -> Iterator[str]:
    told = "".join([f"\\{c}" if c in "[]:\\" else c for c in about(action)])
    values = f"({' '.join(choices(action))})" if action.choices else "_files"
    for text in action.option_strings:
        yield f"{text}[{told}]" + (f":{action.metavar or action.dest}:{values}" if takes_value(action) else "")
    if not action.option_strings:
        yield f"*:{action.dest}:{values}"


# -- fish -------------------------------------------------------------------------------------------------------------
def fish(commands: Commands) -> Iterator[str]:
    for name, (told, actions) in commands.items():
        yield f"complete -c tapec -f -n __fish_use_subcommand -a {name} -d {_quoted(told)}"
        here = f"complete -c tapec -n '__fish_seen_subcommand_from {name}'"
        for action in actions:
            names = [f"-l {t[2:]}" if t.startswith("--") else f"-s {t[1:]}" for t in action.option_strings]
            words = f" -a {_quoted(' '.join(choices(action)))}" if action.choices else ""
            if names:
                value = (" -x" if action.choices else " -r") if takes_value(action) else ""
                yield f"{here} {' '.join(names)}{value}{words} -d {_quoted(about(action))}"
            elif action.choices:
                yield f"{here} -f{words}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"

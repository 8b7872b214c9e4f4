"""What the scripts in this folder share: the report of all checks, expectations that say what was expected, and awkward texts.

A check is a function that raises if something is not as expected. Every check prints one line. No failure ends a script: all
checks run, and the script then exits with 1 if one of them failed.
"""

from __future__ import annotations

import argparse
import asyncio
import fnmatch
import re
import sys
import time
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

# The folder that the server serves.
FLOWS = Path(__file__).resolve().parents[1] / "flows"
# No check may take longer, in seconds.
CHECK_LIMIT = 90.0
# How long something may take that happens soon, in seconds.
SOON = 20.0

# What the model of the flow `hurt` answers (see answers.yaml). Each of these characters ends a line, a frame or a text in some reader.
HURT = (
    "line\u2028paragraph\u2029next\u0085tab\u000bform\u000cfile\u001cgroup\u001drecord\u001enul\0"
    ' quote" back\\ end\r\n\r\ndata: {}\n\n'
)

# What the models of the other flows answer.
GREETING = "Good morning from the script."
ARTICLE = "Otters sleep afloat, hand in hand."


class Report:
    """Runs checks and prints one line for each."""

    def __init__(self, only: str | None = None) -> None:
        self._only = only
        self.passed = 0
        self.failed: list[str] = []

    def _is_wanted(self, name: str) -> bool:
        return self._only is None or fnmatch.fnmatchcase(name, f"*{self._only}*")

    def check(self, name: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Runs a check that is an ordinary function."""
        if not self._is_wanted(name):
            return
        started = time.monotonic()
        try:
            function(*arguments)
        except Exception as error:
            self._print_failure(name, error)
        else:
            self._print_success(name, started)

    async def check_async(self, name: str, function: Callable[..., Awaitable[Any]], *arguments: Any) -> None:
        """Runs a check that is a coroutine."""
        if not self._is_wanted(name):
            return
        started = time.monotonic()
        try:
            async with asyncio.timeout(CHECK_LIMIT):
                await function(*arguments)
        except Exception as error:
            self._print_failure(name, error)
        else:
            self._print_success(name, started)

    def _print_success(self, name: str, started: float) -> None:
        self.passed += 1
        print(f"ok    {name}  ({time.monotonic() - started:.2f} s)", flush=True)

    def _print_failure(self, name: str, error: Exception) -> None:
        self.failed.append(name)
        while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        place = place_in_scripts(error)
        kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
        text = str(error) or "(no message)"
        print(f"FAIL  {name}: {kind}{one_line(text)}  [{place}]", flush=True)

    def exit_code(self) -> int:
        """Prints the totals. Returns 1 if a check failed, or if none ran."""
        print(f"{self.passed} passed, {len(self.failed)} failed", flush=True)
        for name in self.failed:
            print(f"  failed: {name}")
        return 0 if self.passed and not self.failed else 1


def place_in_scripts(error: BaseException) -> str:
    """The last line of a script in this folder that led to an error."""
    folder = __file__.rsplit("/", 1)[0]
    place = "?"
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename.startswith(folder) and frame.name not in ("expect", "check", "check_async"):
            place = f"{frame.filename[len(folder) + 1 :]}:{frame.lineno}"
    return place


def one_line(text: str) -> str:
    """A text without what would break the line, and not too long."""
    shown = text.encode("unicode_escape").decode()
    return shown if len(shown) <= 600 else f"{shown[:400]} ... {shown[-150:]}"


def expect(what: str, actual: Any, expected: Any) -> None:
    """Both must be equal, with the same JSON type."""
    same = actual == expected and isinstance(actual, bool) == isinstance(expected, bool)
    assert same, f"{what}: expected {expected!r}, got {actual!r}"


def expect_words(what: str, text: Any, *words: str) -> None:
    """A text must contain all of these words, in upper or lower case."""
    assert isinstance(text, str), f"{what}: expected a text, got {text!r}"
    for word in words:
        assert word.lower() in text.lower(), f"{what}: expected {word!r} in it, got {text!r}"


def expect_match(what: str, text: Any, pattern: str) -> None:
    """A text must match a regular expression as a whole."""
    assert isinstance(text, str) and re.fullmatch(pattern, text), f"{what}: expected /{pattern}/, got {text!r}"


ErrorClasses = type[BaseException] | tuple[type[BaseException], ...]


def names_of(kind: ErrorClasses) -> str:
    """The names of classes of errors."""
    return " or ".join(one.__name__ for one in kind) if isinstance(kind, tuple) else kind.__name__


def raised(what: str, kind: ErrorClasses, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Calls a function that must raise an error of this class, and returns the error."""
    try:
        result = function(*arguments, **named)
    except kind as error:
        return error
    raise AssertionError(f"{what}: expected {names_of(kind)}, got the answer {one_line(repr(result))}")


async def raised_async(what: str, kind: ErrorClasses, awaited: Awaitable[Any]) -> Any:
    """Awaits something that must raise an error of this class, and returns the error."""
    try:
        result = await awaited
    except kind as error:
        return error
    raise AssertionError(f"{what}: expected {names_of(kind)}, got the answer {one_line(repr(result))}")


async def wait_until(what: str, function: Callable[[], Awaitable[Any]], limit: float = SOON) -> Any:
    """Calls a coroutine again until it returns something true."""
    deadline = time.monotonic() + limit
    while True:
        found = await function()
        if found:
            return found
        assert time.monotonic() < deadline, f"{what}: expected within {limit:.0f} s, last answer {found!r}"
        await asyncio.sleep(0.05)


def read_arguments(purpose: str) -> argparse.Namespace:
    """The arguments of all scripts."""
    parser = argparse.ArgumentParser(description=purpose)
    parser.add_argument("url", help="the server, such as http://127.0.0.1:8080")
    parser.add_argument("key", help="a key with the scopes read, run and answer")
    parser.add_argument("admin_key", nargs="?", help="a key with the scope admin (default: the other one)")
    parser.add_argument("--only", help="run only the checks with this text in their name (* and ? are allowed)")
    arguments = parser.parse_args()
    arguments.url = arguments.url.rstrip("/")
    arguments.admin_key = arguments.admin_key or arguments.key
    # A failure may contain any text.
    sys.stdout.reconfigure(errors="backslashreplace")
    return arguments

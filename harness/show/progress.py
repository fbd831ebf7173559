"""Show long work as it goes: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.text import Text

_SECONDS_BETWEEN_LINES = 5.0
_SHOWN_AT_ONCE = 12


class Progress(AbstractContextManager["Progress"], Protocol):
    """What a long command tells while it works; called from several threads."""

    def say(self, text: str) -> None:
        """Tell one thing that stays on the screen."""

    def phase(self, name: str, total: int) -> None:
        """Begin a phase of ``total`` items."""

    def more(self, name: str, total: int) -> None:
        """Add ``total`` items to the phase: those of one of several hosts, which go on each at its own pace."""

    def begin(self, item: str) -> None:
        """Begin an item of the phase."""

    def note(self, item: str, text: str) -> None:
        """Tell what an item is doing now."""

    def end(self, item: str, result: str) -> None:
        """End an item with its result."""


class Board:
    """Count the items of a phase; the part that both views share."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.name = ""
        self.total = 0
        self.done = 0
        self.running: dict[str, str] = {}
        self.since = time.monotonic()

    def phase(self, name: str, total: int) -> None:
        """Begin a phase of ``total`` items."""
        with self.lock:
            self.name, self.total, self.done, self.since = name, total, 0, time.monotonic()
            self.running.clear()

    def more(self, name: str, total: int) -> None:
        """Add ``total`` items to the phase."""
        with self.lock:
            self.name = "all hosts" if self.total else name
            self.total += total

    def summary(self) -> str:
        """Return one line: done, running, left, and the time left at the pace so far."""
        with self.lock:
            left = self.total - self.done - len(self.running)
            line = f"{self.name}: {self.done} of {self.total} done, {len(self.running)} running, {max(left, 0)} left"
            if self.done and self.done < self.total:
                pace = (time.monotonic() - self.since) / self.done
                line += f", about {_duration(pace * (self.total - self.done))} to go"
            return line


class Lines:
    """Plain lines: one for each result, and a summary every few seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._board = Board()
        self._last = 0.0

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def say(self, text: str) -> None:
        """Print one line."""
        self._console.print(Text(text), soft_wrap=True)

    def phase(self, name: str, total: int) -> None:
        """Begin a phase."""
        self._board.phase(name, total)
        if total:
            self.say(f"{name}: {total}")

    def more(self, name: str, total: int) -> None:
        """Add items to the phase."""
        self._board.more(name, total)
        if total:
            self.say(f"{name}: {total}")

    def begin(self, item: str) -> None:
        """Count an item as running."""
        with self._board.lock:
            self._board.running[item] = ""

    def note(self, item: str, text: str) -> None:
        """Keep quiet: the log file has it."""

    def end(self, item: str, result: str) -> None:
        """Print the result of an item, and now and then where the phase stands."""
        with self._board.lock:
            self._board.running.pop(item, None)
            self._board.done += 1
            self.say(f"  {item}: {result}")
            if time.monotonic() - self._last > _SECONDS_BETWEEN_LINES:
                self._last = time.monotonic()
                self.say(self._board.summary())


class LiveView:
    """A view that is drawn over itself: the phase on top, what runs below, results scroll by above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._board = Board()
        self._live = Live(get_renderable=self._draw, console=console, refresh_per_second=8, transient=True)

    def __enter__(self) -> LiveView:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def say(self, text: str) -> None:
        """Print a line above the view."""
        self._console.print(Text(text))

    def phase(self, name: str, total: int) -> None:
        """Begin a phase."""
        self._board.phase(name, total)

    def more(self, name: str, total: int) -> None:
        """Add items to the phase."""
        self._board.more(name, total)

    def begin(self, item: str) -> None:
        """Add an item to what runs."""
        with self._board.lock:
            self._board.running[item] = ""

    def note(self, item: str, text: str) -> None:
        """Show the last line an item printed."""
        if line := text.strip().splitlines()[-1:]:
            with self._board.lock:
                self._board.running[item] = line[0]

    def end(self, item: str, result: str) -> None:
        """Take an item out of the view and leave its result above."""
        with self._board.lock:
            self._board.running.pop(item, None)
            self._board.done += 1
        self._console.print(f"  {escape(item)}: [{_colour(result)}]{escape(result)}[/]")

    def _draw(self) -> Text:
        with self._board.lock:
            lines = [self._board.summary()] if self._board.total else []
            running = list(self._board.running.items())
        for item, doing in running[:_SHOWN_AT_ONCE]:
            lines.append(f"  {item}  {doing}"[: self._console.width - 1])
        if len(running) > _SHOWN_AT_ONCE:
            lines.append(f"  … and {len(running) - _SHOWN_AT_ONCE} more")
        return Text("\n".join(lines))


class Side:
    """What one of several hosts tells: its items bear its name, and its phases add up with those of the others."""

    def __init__(self, whole: Progress, host: str) -> None:
        self._whole = whole
        self._host = host

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def _named(self, item: str) -> str:
        return f"{item} @ {self._host}" if self._host else item

    def say(self, text: str) -> None:
        """Tell one thing that stays on the screen."""
        self._whole.say(text)

    def phase(self, name: str, total: int) -> None:
        """Begin a phase of this host."""
        self._whole.more(self._named(name), total)

    def more(self, name: str, total: int) -> None:
        """Add items to a phase of this host."""
        self._whole.more(self._named(name), total)

    def begin(self, item: str) -> None:
        """Begin an item."""
        self._whole.begin(self._named(item))

    def note(self, item: str, text: str) -> None:
        """Tell what an item is doing now."""
        self._whole.note(self._named(item), text)

    def end(self, item: str, result: str) -> None:
        """End an item with its result."""
        self._whole.end(self._named(item), result)


def _colour(result: str) -> str:
    for word, colour in (
        ("pass", "green"),
        ("built", "green"),
        ("there already", "green"),
        ("fail", "red"),
        ("flaky", "magenta"),
    ):
        if result.startswith(word):
            return colour
    return "yellow"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def view(console: Console) -> Lines | LiveView:
    """Return the view that suits the console."""
    return LiveView(console) if console.is_terminal else Lines(console)

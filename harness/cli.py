"""The commands: parse, call, print. What they do is elsewhere, and imported only when a command needs it."""

from __future__ import annotations

import io
import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Literal, Optional

import typer

from harness import __version__
from harness.errors import HarnessError

app = typer.Typer(
    name="harness",
    help="Show where a HIP or PyTorch program breaks across ROCm versions, devices and mount set-ups.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

MatrixFile = Annotated[Path, typer.Option("--matrix", "-m", metavar="FILE", help="The matrix file.")]
EngineUrl = Annotated[
    Optional[str],  # noqa: UP045 (typer reads it at run time on Python 3.10)
    typer.Option("--engine", envvar="ENGINE", metavar="URL", help="The container engine: a URL, docker, or podman."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Format = Literal["terminal", "github", "csv", "json"]

INTERRUPTED = 130


@app.command()
def plan(
    matrix: MatrixFile = Path("matrix.yaml"),
    cell: Annotated[str, typer.Option(metavar="TEXT", help="Only cells whose name contains this.")] = "",
    commands: Annotated[bool, typer.Option("--commands", help="Print each cell's build and docker run lines.")] = False,
    json: Json = False,
) -> None:
    """List the cells of the matrix and what of them is there already."""
    from harness import commands as do

    _print(do.plan(matrix, containing=cell, with_commands=commands, as_json=json))


@app.command()
def images(matrix: MatrixFile = Path("matrix.yaml"), engine: EngineUrl = None, json: Json = False) -> None:
    """Build the images of the matrix and show what is inside them."""
    from harness import commands as do

    _print(do.images(matrix, engine, as_json=json))


@app.command()
def run(
    matrix: MatrixFile = Path("matrix.yaml"),
    engine: EngineUrl = None,
    cell: Annotated[str, typer.Option(metavar="TEXT", help="Only cells whose name contains this.")] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Run cells again that have all their trials.")] = False,
    fail: Annotated[bool, typer.Option("--fail", help="End with status 1 when a repro failed.")] = False,
) -> None:
    """Build what is missing, run what is missing, print the table."""
    from harness import commands as do

    status, text = do.run(matrix, engine, containing=cell, fresh=fresh, fail=fail)
    _print(text)
    raise typer.Exit(status)


@app.command()
def table(
    matrix: MatrixFile = Path("matrix.yaml"),
    form: Annotated[Format, typer.Option("--format", "-f", help="How to write it.")] = "terminal",
    only_differing: Annotated[bool, typer.Option("--only-differing", help="Only rows whose verdicts differ.")] = False,
    json: Json = False,
    records: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Argument(metavar="[RECORDS]...", help="Make the table of these record files alone: another host's, say."),
    ] = None,
) -> None:
    """Print the table of what has run."""
    from harness import commands as do

    _print(do.table(matrix, "json" if json else form, only_differing=only_differing, records=records or []))


@app.command()
def clean(
    matrix: MatrixFile = Path("matrix.yaml"),
    engine: Annotated[
        bool, typer.Option("--engine", help="Stop the container engine that the harness started.")
    ] = False,
    images: Annotated[bool, typer.Option("--images", help="Remove the images that this project built.")] = False,
    records: Annotated[bool, typer.Option("--records", help="Remove the records of all runs.")] = False,
) -> None:
    """Remove what ended runs left behind, and more where asked; never what is somebody else's."""
    from harness import commands as do

    do.clean(matrix, os.environ.get("ENGINE"), engine=engine, images=images, records=records)


@app.command()
def devices(sysfs: Annotated[Path, typer.Option(metavar="DIR")] = Path("/sys"), json: Json = False) -> None:
    """List the AMD GPUs of this host, or of another whose /sys was copied to DIR; needs no ROCm."""
    from harness import commands as do

    _print(do.devices(sysfs, as_json=json))


@app.command()
def doctor(matrix: MatrixFile = Path("matrix.yaml"), engine: EngineUrl = None, json: Json = False) -> None:
    """Say what this host offers and lacks, and what mends it."""
    from harness import commands as do

    status, text = do.doctor(matrix, engine, as_json=json)
    _print(text)
    raise typer.Exit(status)


@app.command()
def schema() -> None:
    """Print the JSON Schema of matrix.yaml, for editors."""
    from harness import commands as do

    _print(do.schema())


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="The repro's name, such as my_bug.")],
    matrix: MatrixFile = Path("matrix.yaml"),
) -> None:
    """Start a new reproducer under repros/."""
    from harness import commands as do

    _print(do.new(matrix, name, program=sys.argv[0]))


def _print(text: str) -> None:
    """Print a result; a reader that has gone (`harness table | head`) has what it wanted."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _version(asked: bool) -> None:
    if asked:
        print(__version__)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Show where a HIP or PyTorch program breaks across ROCm versions, devices and mount set-ups."""


def main() -> None:
    """Run one command and end with the status that the contract gives it; no error leaves as a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no UTF-8 is no reason to fail
    status = _status()
    if status == INTERRUPTED:
        print(f"\ninterrupted; to resume, run: {_again()}", file=sys.stderr, flush=True)
        # Builds that still wait for the engine would hold the process up; their connections end with it.
        os._exit(status)
    sys.exit(status)


def _status() -> int:
    try:
        return app(standalone_mode=False) or 0  # typer turns Ctrl-C into 130 by itself
    except HarnessError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    except typer.TyperException as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except OSError as error:
        print(f"error: {error.filename or 'this machine'}: {error.strerror or error}", file=sys.stderr)
        return 3


def _again() -> str:
    """Return the command to resume with: `--fresh` would begin anew."""
    return shlex.join(word for word in sys.argv if word != "--fresh")

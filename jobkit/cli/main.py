"""The `jobkit` command: what there is, in one table, and what becomes of an error, in one place.

A subcommand is the `command` of the module of its name, and is imported when it is called. It returns
nothing when all is well; a verdict of its own is `raise SystemExit(1)`.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from jobkit.errors import JobkitError

COMMANDS = {
    "doctor": "What works on this machine, and what to do about what does not.",
    "lab": "Open the notebooks in JupyterLab.",
    "tour": "Run the notebooks without a browser, into executed copies.",
    "worker": "Run a worker: claim jobs, run them, settle them.",
    "scheduler": "Run a scheduler: move due jobs, recover lost ones, fire schedules.",
    "schedules": "List, add, pause, resume or remove recurring schedules.",
    "stats": "Show how deep a queue is, and how late.",
    "metrics": "Serve a queue's figures to Prometheus.",
    "dead": "List, show, requeue or purge dead letters.",
    "storm": "Simulate a retry storm: what jitter does, and what it costs.",
    "explore": "Try every order of your workers' Redis commands, and show one that fails.",
    "chaos": "Kill workers, and the server, and count what is left.",
    "store": "Run the notebooks' sources anew and store them (for authors).",
}


class Table(click.Group):
    """A group that knows its subcommands by name and line, so that --help imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a subcommand."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"jobkit.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Table, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="jobkit", message="jobkit %(version)s")
def cli() -> None:
    """Delayed jobs on Redis: notebooks to learn from, and the queue that they build."""


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line. Whatever a user can mend ends as one line on stderr and exit status 2."""
    given = list(sys.argv[1:] if args is None else args)
    try:
        status = cli.main(given or ["--help"], prog_name="jobkit", standalone_mode=False)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "jobkit"
        fail(f"{error.format_message().rstrip('.')} (`{path} --help` tells more)")
    except click.ClickException as error:
        fail(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:  # `jobkit dead list | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except mendable() as error:
        fail(str(error) or type(error).__name__)
    sys.exit(status if isinstance(status, int) else 0)


def mendable() -> tuple[type[Exception], ...]:
    """What is a user's to mend: jobkit's own, what Redis refuses, a full disk. Looked up when it happened."""
    from redis.exceptions import RedisError

    return JobkitError, RedisError, OSError


def fail(message: str) -> NoReturn:
    """End with one line on stderr, in which no URL shows its user and password."""
    line = re.sub(r"//[^/@\s]*@", "//", " ".join(message.split()))
    click.echo(f"jobkit: {line}", err=True)
    sys.exit(2)

#!/usr/bin/env python3
"""Tests the hosted API of agntz with its own client as PyPI has it, synchronous and asynchronous.

Usage: agntz_client.py URL KEY [ADMIN_KEY] [--only TEXT]

The server serves ../flows with `--model scripted=answers.yaml` and needs a key. `agntz_checks` has a file for each part of the API.
Each check there is a coroutine that gets a `Side`: the client, and the same server without a client. It runs twice, once with each of
the two clients.
"""

from __future__ import annotations

import asyncio
import sys

from agntz_checks import agents, base, client_tools, lists, refusals, runs, sessions, streams, texts, traces
from agntz_checks.side import Side
from checks import Report, read_arguments

PARTS = [base, runs, texts, streams, client_tools, lists, agents, traces, sessions, refusals]


async def main() -> int:
    arguments = read_arguments("Tests the hosted API of agntz with its own client.")
    report = Report(arguments.only)
    for mode in ("sync", "async"):
        async with Side.connect(mode, arguments.url, arguments.key, arguments.admin_key) as side:
            for part in PARTS:
                subject = part.__name__.rsplit(".", 1)[-1]
                for check in part.CHECKS:
                    await report.check_async(f"{subject} ({mode}): {check.__doc__}", check, side)
    return report.exit_code()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

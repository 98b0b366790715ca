"""How a notebook's kernel is spoken to, so that no answer of it is left lying."""

from __future__ import annotations

import time
from queue import Empty
from typing import Any

from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from jupyter_client.manager import AsyncKernelManager
from traitlets import Type

LOOK_AGAIN = 0.2
"""Seconds between looks for an answer that nobody was told of."""


class _Channel(AsyncZMQSocketChannel):
    """A channel that looks for itself.

    ZeroMQ says once that a message is there, to whoever uses the socket next, and that may be a send.
    A widget makes the client send while it waits for the cell's answer: about one run in ten of a
    notebook with two sliders then waited for an answer that had come.
    """

    async def get_msg(self, timeout: float | None = None) -> dict[str, Any]:  # type: ignore[override]  # noqa: ASYNC109
        """Return the next message; raise Empty if none came within `timeout` seconds."""
        end = time.monotonic() + (float("inf") if timeout is None else timeout)
        while True:
            left = max(0.0, end - time.monotonic())
            try:
                return await super().get_msg(min(left, LOOK_AGAIN))
            except Empty:
                if left <= LOOK_AGAIN:
                    raise


class _Client(AsyncKernelClient):
    shell_channel_class = Type(_Channel)


class Manager(AsyncKernelManager):
    """Starts a kernel, and makes clients that speak to it."""

    client_factory = Type(_Client)

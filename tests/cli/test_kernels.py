"""An answer of the kernel is found though a send has used up ZeroMQ's one notice of it."""

import asyncio

import zmq
import zmq.asyncio
from jupyter_client.session import Session

from jobkit.cli.kernels import Manager


def test_an_answer_is_found_after_a_send():
    assert asyncio.run(_answer_and_send()) == {"it": "came"}


async def _answer_and_send():
    session = Session(key=b"")
    with zmq.asyncio.Context() as context, context.socket(zmq.DEALER) as ours, zmq.Context() as other:
        ours.linger = 0
        port = ours.bind_to_random_port("tcp://127.0.0.1")
        with other.socket(zmq.DEALER) as kernel:
            kernel.linger = 0
            kernel.connect(f"tcp://127.0.0.1:{port}")
            kernel.send(b"connected")
            await ours.recv()
            channel = Manager.client_factory.default_value.shell_channel_class.default_value(ours, session)
            waiting = asyncio.create_task(channel.get_msg(timeout=100))
            for _ in range(50):  # turns of the loop: after a few it waits
                await asyncio.sleep(0)
            session.send(kernel, "execute_reply", content={"it": "came"})
            channel.send(session.msg("comm_msg"))
            assert zmq.Socket.shadow(ours.underlying).poll(60_000)  # a send that comes last uses up the notice so
            return (await asyncio.wait_for(waiting, 20))["content"]

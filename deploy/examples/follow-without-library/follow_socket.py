"""Prints each change of a token's Transfer event, over Socket.IO."""

import asyncio
import sys

import socketio
from following import again, channel, get_token, load_cursor, save_cursor, show, stream_url


def on_event(message):
    show(message)
    save_cursor(message["cursor"])


async def follow():
    # Each connection has a token of its own, so the library does not connect again by itself. AsyncClient calls on_event in the
    # order of the messages; socketio.Client calls on_event in a new thread for each message, and could save an older cursor last.
    client = socketio.AsyncClient(reconnection=False)

    async def on_stopped(_):
        await client.disconnect()

    client.on("event", on_event, namespace="/events")
    client.on("gap", lambda gap: print("changes are no longer kept:", gap), namespace="/events")
    client.on("stopped", on_stopped, namespace="/events")
    connection = {"auth": {"token": get_token()}, "namespaces": ["/events"], "transports": ["websocket"]}
    await client.connect(stream_url, **connection)
    start = {"cursor": load_cursor()} if load_cursor() else {"fromBlock": 0}
    answer = await client.call("subscribe", {**channel, **start}, namespace="/events")
    if not answer["ok"]:
        await client.disconnect()
        sys.exit(answer["error"])
    await client.wait()


again(lambda: asyncio.run(follow()), [socketio.exceptions.SocketIOError])

"""Prints each change of a token's Transfer event, over Socket.IO."""

import sys

import socketio
from following import again, channel, get_token, load_cursor, save_cursor, show, stream_url


def on_event(message):
    show(message)
    save_cursor(message["cursor"])


def follow():
    # Each connection has a token of its own, so the library does not connect again by itself.
    client = socketio.Client(reconnection=False)
    client.on("event", on_event, namespace="/events")
    client.on("gap", lambda gap: print("changes are no longer kept:", gap), namespace="/events")
    client.on("stopped", lambda _: client.disconnect(), namespace="/events")
    connection = {"auth": {"token": get_token()}, "namespaces": ["/events"], "transports": ["websocket"]}
    client.connect(stream_url, **connection)
    start = {"cursor": load_cursor()} if load_cursor() else {"fromBlock": 0}
    answer = client.call("subscribe", {**channel, **start}, namespace="/events")
    if not answer["ok"]:
        client.disconnect()
        sys.exit(answer["error"])
    client.wait()


again(follow, [socketio.exceptions.SocketIOError])

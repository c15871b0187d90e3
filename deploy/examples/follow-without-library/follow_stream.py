"""Prints each change of a token's Transfer event, by server-sent events."""

import json
import sys

import requests
from following import again, channel, get_token, load_cursor, save_cursor, show, stream_url


def follow():
    headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {get_token()}"}
    if load_cursor():
        headers["Last-Event-ID"] = load_cursor()
    asked = {**channel, "fromBlock": 0}
    # The server writes at least a comment every 15 seconds.
    limits = {"stream": True, "timeout": (10, 45)}
    with requests.get(f"{stream_url}/api/v1/stream", params=asked, headers=headers, **limits) as answer:
        if answer.status_code in (400, 403, 404):
            sys.exit(answer.text)
        answer.raise_for_status()
        fields = {}
        for line in answer.iter_lines(chunk_size=None):
            name, _, value = line.decode().partition(": ")
            fields[name] = value
            # An empty line ends an event.
            if line:
                continue
            if fields.get("event") == "event":
                show(json.loads(fields["data"]))
            if fields.get("event") == "gap":
                sys.exit(f"changes are no longer kept: {fields['data']}")
            if "id" in fields:
                save_cursor(fields["id"])
            fields = {}


again(follow, [requests.RequestException])

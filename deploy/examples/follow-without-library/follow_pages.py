"""Prints each change of a token's Transfer event, by pages of JSON."""

import sys

import requests
from following import again, channel, get_token, load_cursor, save_cursor, show, stream_url


def follow():
    headers = {"Authorization": f"Bearer {get_token()}"}
    while True:
        start = {"cursor": load_cursor()} if load_cursor() else {"fromBlock": 0}
        # Waits up to 20 seconds where nothing is new.
        asked = {**channel, **start, "wait": 20}
        answer = requests.get(f"{stream_url}/api/v1/stream", params=asked, headers=headers, timeout=60)
        if answer.status_code in (400, 403, 404):
            sys.exit(answer.text)
        answer.raise_for_status()
        page = answer.json()
        if page["gap"]:
            sys.exit(f"changes are no longer kept: {page['gap']}")
        for message in page["items"]:
            show(message)
        save_cursor(page["cursor"])


again(follow, [requests.RequestException])

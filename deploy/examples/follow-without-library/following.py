"""What the examples share: the settings, tokens, a cursor that survives a kill, and to try again."""

import json
import subprocess
import sys
import time
from pathlib import Path

settings = json.loads(Path(".annals/dev.json").read_text())
stream_url = settings["streamUrl"]
channel = {
    "chainId": settings["chainId"],
    "contractAddress": settings["token"]["address"],
    "eventSignature": "Transfer",
}
cursor_file = Path(sys.argv[0]).with_suffix(".cursor")


def get_token():
    return subprocess.check_output(["node", "token.mjs"], text=True).strip()


def load_cursor():
    return cursor_file.read_text() if cursor_file.exists() else None


def save_cursor(cursor):
    # A kill must not leave half a file.
    new = cursor_file.with_suffix(".new")
    new.write_text(cursor)
    new.replace(cursor_file)


def show(message):
    print(message["change"], message["event"]["Data"]["value"], flush=True)


def again(follow, failures):
    while True:
        try:
            follow()
        except (*failures, subprocess.CalledProcessError) as error:
            print(error, file=sys.stderr)
        time.sleep(1)

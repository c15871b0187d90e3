"""What Schemathesis is told: who calls, and each refusal and acceptance that no schema can say."""

import json
import os
import re

import schemathesis
from schemathesis.core.failures import Failure
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

with open(os.environ["CALLER"]) as file:
    CALLER = json.load(file)

# Operation, code, member of the request (none: all of it), and why the schema allows it.
REFUSALS = [
    ("*", "validation_failed", "x-min-position", "only a position that an answer carried is one"),
    ("*", "validation_failed", "contractAddress", "mixed case must have its EIP-55 checksum"),
    ("*", "validation_failed", "signer", "mixed case must have its EIP-55 checksum"),
    ("*", "idempotency_key_reused", None, "the key was used with another body"),
    ("*", "not_caught_up", None, "the position may be later than what was read"),
    ("*", "cursor_invalid", None, "only a cursor that an answer carried is one"),
    ("logInWithWallet", "signature_malformed", None, "wallets that are contracts will sign longer texts"),
    ("updateProfile", "validation_failed", "username", "characters are counted after trimming"),
    ("updateProfile", "validation_failed", "firstname", "characters are counted after trimming"),
    ("updateProfile", "validation_failed", "lastname", "characters are counted after trimming"),
    ("updateProfile", "validation_failed", "signature", "characters are counted after trimming"),
    ("updateProfile", "validation_failed", "avatar", "is an https URL"),
    ("updateMessenger", "validation_failed", "messengerId", "characters are counted after trimming"),
    ("updateMessenger", "validation_failed", "messengerUsername", "characters are counted after trimming"),
    ("updateMessenger", "validation_failed", "messengerFirstName", "characters are counted after trimming"),
    ("updateMessenger", "validation_failed", "messengerLastName", "characters are counted after trimming"),
    ("updateMessenger", "validation_failed", "messengerAvatarUrl", "is an https URL"),
    ("logInWithMessenger", "validation_failed", "username", "characters are counted after trimming"),
    ("logInWithMessenger", "validation_failed", "firstname", "characters are counted after trimming"),
    ("logInWithMessenger", "validation_failed", "lastname", "characters are counted after trimming"),
    ("logInWithMessenger", "validation_failed", "avatarUrl", "is an https URL"),
    ("logInMessengerUser", "validation_failed", "username", "characters are counted after trimming"),
    ("logInMessengerUser", "validation_failed", "firstname", "characters are counted after trimming"),
    ("logInMessengerUser", "validation_failed", "lastname", "characters are counted after trimming"),
    ("logInMessengerUser", "validation_failed", "domainId", "is between -(2^53 - 1) and 2^53 - 1"),
    ("logInMessengerUser", "signature_malformed", None, "is checked after what was signed"),
    ("requestEmailPassword", "validation_failed", "email", "at most 64 characters are before the @"),
    ("logInWithEmail", "validation_failed", "email", "at most 64 characters are before the @"),
    ("startBotLogin", "validation_failed", "redirectUri", "which are registered is known to the app"),
    ("startOAuthLogin", "validation_failed", "redirectUri", "which are registered is known to the app"),
    ("logInWithOAuth", "validation_failed", "code", "is missing only where the login was denied"),
    ("logInWithOAuth", "validation_failed", "state", "is missing only where the login was denied"),
    ("logInWithOAuth", "oauth_denied", None, "says what the provider said"),
    ("getUser", "validation_failed", "asOf", "a time, or only a position that an answer carried"),
    ("logInWithEmail", "validation_failed", "otp", "six decimal digits of any script"),
    ("logInWithMessenger", "validation_failed", "otp", "six decimal digits of any script"),
    ("rpc", -32600, None, "who pays is named by each call, or by the query"),
    ("*", "chain_not_supported", None, "which chains there are is a setting"),
    ("*", "execution_reverted", None, "what a contract does is known to its chain"),
    ("*", "insufficient_funds", None, "what an account has is known to its chain"),
    ("*", "user_op_rejected", None, "what an account accepts is known to its chain"),
    ("registerContract", "validation_failed", "startBlock", "a number or deploy: choices are not described"),
    ("registerContract", "validation_failed", "eventAbi", "has an event"),
    ("registerContract", "event_signature_invalid", None, "is a declaration in Solidity"),
    ("registerContract", "event_abi_mismatch", None, "the ABI has the event"),
    ("registerContract", "start_block_in_future", None, "the chain grows"),
    ("*", "validation_failed", "", "a member may not be named __proto__, nor be nested too deeply"),
]
REQUEST_ID = re.compile(r"^[A-Za-z0-9_-]{1,64}$")


@schemathesis.auth()
class Bearer:
    def get(self, case, context):
        return CALLER["accessToken"]

    def set(self, case, data, context):
        if "security" in case.operation.definition.raw and case.operation.definition.raw["security"]:
            case.headers["authorization"] = f"Bearer {data}"


def is_listed(operation, problem):
    places = {error["path"] for error in problem.get("errors", [])}
    rules = [(code, place) for name, code, place, _ in REFUSALS if name in ("*", operation) and code == problem["code"]]
    if any(place is None for _, place in rules):
        return True
    listed = {place for _, place in rules}
    return bool(rules) and (places <= listed if places else "" in listed)


@schemathesis.check
def only_listed_refusals(ctx, response, case):
    """A request that fits its schema is carried out, or refused as listed."""
    try:
        positive_data_acceptance(ctx, response, case)
    except Failure:
        answer = response.json()
        refusals = answer if isinstance(answer, list) else [answer]
        # Of JSON-RPC, the code is a member of each error.
        problems = [one.get("error", one) for one in refusals]
        if not all(is_listed(case.operation.definition.raw["operationId"], problem) for problem in problems):
            raise


@schemathesis.check
def only_listed_acceptances(ctx, response, case):
    """A request that does not fit is refused; a request id is replaced, and unknown headers are ignored."""
    try:
        negative_data_rejection(ctx, response, case)
    except Failure:
        headers = dict(case.headers or {})
        replaced = REQUEST_ID.fullmatch(headers.get("x-request-id", "0")) is None
        unknown = any(name.lower().startswith("x-schemathesis-unknown") for name in headers)
        if not (replaced or unknown):
            raise


@schemathesis.check
def only_described_codes(ctx, response, case):
    """The description of the answer names its code."""
    if not response.headers.get("content-type", [""])[0].startswith("application/problem+json"):
        return
    described = case.operation.definition.raw["responses"].get(str(response.status_code), {}).get("description", "")
    code = response.json()["code"]
    assert code in described.split(", "), f"{code} is not described"

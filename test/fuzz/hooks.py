"""Makes generated bodies meet what JSON Schema cannot say, so that they get past validation and deep inside.

Only values that match the schema are touched, so a body made invalid on purpose stays invalid.
"""

import os
import re

import schemathesis

ADDRESS = re.compile(r"^0x[0-9a-fA-F]{40}$")
BLOCK_KEY = re.compile(r"^[1-9][0-9]{0,15}$")
SAFE_INTEGER_MAX = 2**53 - 1
CHAIN_ID = int(os.environ["FUZZ_CHAIN_ID"])
CONTRACTS = os.environ["FUZZ_CONTRACTS"].split(",")


def lowered(holder, member):
    if isinstance(holder.get(member), str) and ADDRESS.match(holder[member]):
        holder[member] = holder[member].lower()


def is_number(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= SAFE_INTEGER_MAX


@schemathesis.hook
def map_body(context, body):
    if not isinstance(body, dict):
        return body
    lowered(body, "account")
    rules = body.get("rules")
    for index, rule in enumerate(rules if isinstance(rules, list) else []):
        if not isinstance(rule, dict):
            continue
        lowered(rule, "contractAddress")
        if is_number(rule.get("chainId")):
            rule["chainId"] = CHAIN_ID
        # Half of the contracts exist, so that rules are decided as well as undetermined.
        if isinstance(rule.get("contractAddress"), str) and ADDRESS.match(rule["contractAddress"]) and index % 2 == 0:
            rule["contractAddress"] = CONTRACTS[index % len(CONTRACTS)]
    consistency = body.get("consistency")
    if isinstance(consistency, dict) and isinstance(consistency.get("minBlock"), dict):
        blocks = consistency["minBlock"]
        if blocks and all(is_number(value) for value in blocks.values()) and all(map(BLOCK_KEY.match, blocks)):
            consistency["minBlock"] = {str(CHAIN_ID): min(blocks.values()) % 100}
    return body

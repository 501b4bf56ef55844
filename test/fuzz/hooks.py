"""Makes requests meet what JSON Schema cannot say, so that they get past validation and deep inside.

Only values that match the schema are touched, so a request made invalid on purpose stays invalid.
"""

import json
import os
import re
from urllib.parse import urljoin, urlsplit

import requests
import schemathesis
from requests.adapters import HTTPAdapter
from urllib3 import Retry

ADDRESS = re.compile(r"^0x[0-9a-fA-F]{40}$")
BLOCK_KEY = re.compile(r"^[1-9][0-9]{0,15}$")
DOCUMENT_ID = re.compile(r"^[a-z0-9][a-z0-9._-]{0,63}$")
ROLE = re.compile(r"^[a-z0-9][a-z0-9._-]{0,63}/.")
SAFE_INTEGER_MAX = 2**53 - 1
CHAIN_ID = int(os.environ["FUZZ_CHAIN_ID"])
CONTRACTS = os.environ["FUZZ_CONTRACTS"].split(",")
CALLBACK_URL = os.environ["FUZZ_CALLBACK_URL"]
MEMBERS = os.environ["FUZZ_MEMBERS"].split(",")
# Of rule sets and of watches: so few that requests read, change and delete each other's.
NAMES = os.environ["FUZZ_NAMES"].split(",")
# No watch is given the last rule set, so that it can be deleted.
USED_RULE_SETS = NAMES[:-1]
# The requests that create them, a check and a batch.
SEED = json.loads(os.environ["FUZZ_SEED"])
# A role of the last rule set, as it was created.
SEED_ROLE = NAMES[-1] + "/" + SEED[0]["body"]["rules"][0]["roleId"]
# The ids of that check and batch, by kind.
REQUEST_IDS = {}


def lowered(text):
    return text.lower() if isinstance(text, str) and ADDRESS.match(text) else text


def is_number(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= SAFE_INTEGER_MAX


def one_of(names, text):
    """The same text always becomes the same name."""
    return names[sum(text.encode("utf-8", "replace")) % len(names)]


def start_client():
    """503 says that a document is being written or removed by another request."""
    retries = Retry(total=10, status_forcelist=[503], allowed_methods=None)
    client = requests.Session()
    client.mount("http://", HTTPAdapter(max_retries=retries))
    client.headers["x-api-key"] = os.environ["FUZZ_API_KEY"]
    return client


CLIENT = start_client()


def create_seed(url, path=""):
    """Sends the requests of the seed whose path begins with the given one."""
    for seed in SEED:
        if not seed["path"].startswith(path):
            continue
        response = CLIENT.request(seed["method"], urljoin(url, seed["path"]), json=seed["body"], timeout=30)
        response.raise_for_status()
        if "requestId" in response.json():
            REQUEST_IDS[kind_of(seed["path"])] = response.json()["requestId"]


def kind_of(path):
    return "batch" if "/batch" in path else "check"


def mend_addresses(holder):
    """EIP-55 checksums: lower case needs none."""
    for member in ("account", "contractAddress"):
        if member in holder:
            holder[member] = lowered(holder[member])
    for member in ("accounts", "vaults"):
        if isinstance(holder.get(member), list):
            holder[member] = [lowered(value) for value in holder[member]]


def mend_rules(rules):
    for index, rule in enumerate(rules if isinstance(rules, list) else []):
        if not isinstance(rule, dict):
            continue
        mend_addresses(rule)
        if is_number(rule.get("chainId")):
            rule["chainId"] = CHAIN_ID
        # Half of the contracts exist, so that rules are decided as well as undetermined.
        address = rule.get("contractAddress")
        if isinstance(address, str) and ADDRESS.match(address) and index % 2 == 0:
            rule["contractAddress"] = CONTRACTS[index % len(CONTRACTS)]
        # A composed rule has rules of its own.
        mend_rules(rule.get("rules"))


def mend_body(body):
    if isinstance(body, list):
        return [mend_body(line) for line in body]
    if not isinstance(body, dict):
        return lowered(body)
    mend_addresses(body)
    mend_rules(body.get("rules"))
    if isinstance(body.get("add"), dict):
        mend_addresses(body["add"])
    for member in ("entries", "add"):
        entries = body.get(member)
        for index, entry in enumerate(entries if isinstance(entries, list) else []):
            if isinstance(entry, dict):
                mend_addresses(entry)
            else:
                entries[index] = lowered(entry)
    if isinstance(body.get("ruleSet"), str) and DOCUMENT_ID.match(body["ruleSet"]):
        body["ruleSet"] = one_of(USED_RULE_SETS, body["ruleSet"])
    if isinstance(body.get("callbackUrl"), str) and re.match(r"^https?://[\x21-\x7e]+$", body["callbackUrl"]):
        body["callbackUrl"] = CALLBACK_URL
    resource = body.get("resource")
    if isinstance(resource, dict) and isinstance(resource.get("id"), str) and ROLE.match(resource["id"]):
        resource["id"] = SEED_ROLE
    consistency = body.get("consistency")
    if isinstance(consistency, dict):
        for member in ("minBlock", "atBlock"):
            blocks = consistency.get(member)
            if isinstance(blocks, dict) and blocks and all(map(is_number, blocks.values())) and all(map(BLOCK_KEY.match, blocks)):
                consistency[member] = {str(CHAIN_ID): min(blocks.values()) % 60 + 1}
    return body


@schemathesis.hook
def map_body(context, body):
    return mend_body(body)


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    if not isinstance(path_parameters, dict):
        return path_parameters
    for name, value in path_parameters.items():
        if not isinstance(value, str):
            continue
        if name == "id" and DOCUMENT_ID.match(value):
            path_parameters[name] = one_of(NAMES, value)
        elif name == "member" and value.isascii() and value.isprintable():
            path_parameters[name] = one_of([value, *MEMBERS], value)
        # Every second id was issued.
        elif name == "requestId" and value.isascii() and sum(value.encode()) % 2 == 0:
            path_parameters[name] = REQUEST_IDS[kind_of(context.operation.path)]
    return path_parameters


@schemathesis.hook
def after_call(context, case, response):
    """Creates a deleted document again, so that later requests find it."""
    url = response.request.url
    if case.method == "DELETE" and response.status_code == 204:
        create_seed(url, urlsplit(url).path)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    create_seed(os.environ["FUZZ_URL"])
    mend_examples(raw_schema)
    describe_lines(raw_schema)


def mend_examples(raw_schema):
    """The examples of the document name a chain, contracts and a receiver that this system does not have."""
    for operations in raw_schema["paths"].values():
        for operation in operations.values():
            for media in operation.get("requestBody", {}).get("content", {}).values():
                for example in media.get("examples", {}).values():
                    example["value"] = mend_body(example["value"])


def describe_lines(raw_schema):
    """OpenAPI describes NDJSON as text. Here it is an array, each item of which is sent as a line."""
    entry = {"$ref": "#/components/schemas/BatchEntry"}
    head = {**raw_schema["components"]["schemas"]["BatchRequest"]}
    # A preview has no entries, so it has no lines.
    head["properties"] = {
        name: of for name, of in head["properties"].items() if name not in ("entries", "watch")
    }
    head["required"] = [name for name in head.get("required", []) if name != "entries"]
    head["allOf"] = [one for one in head.get("allOf", []) if '"entries"' not in json.dumps(one)]
    only = lambda name, of: {
        "type": "object",
        "properties": {name: of},
        "required": [name],
        "additionalProperties": False,
    }
    lines = {
        "/access-control/check-roles/batch": {"prefixItems": [head], "items": entry, "minItems": 2},
        "/access-control/watches/{id}/members": {
            "items": {"anyOf": [only("add", entry), only("remove", {"type": "string"})]},
            "minItems": 1,
        },
    }
    for path, schema in lines.items():
        content = raw_schema["paths"][path]["post"]["requestBody"]["content"]
        content["application/x-ndjson"]["schema"] = {"type": "array", **schema}


@schemathesis.serializer("application/x-ndjson")
def write_ndjson(context, value):
    lines = value if isinstance(value, list) else [value]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()

"""Validates rendered manifests against their schemas: `validate.py MANIFESTS CRD...`, for the newest and oldest supported Kubernetes.

Kubernetes's own kinds by kubernetes-validate, strictly (an unknown member is an error); others by the schemas of the
custom resource definitions that are given. Prints every fault; exit 1 if there is one.
"""

import sys

import jsonschema
import kubernetes_validate
import yaml

VERSIONS = ["1.31", "1.37"]


def strict(schema):
    """The schema with unknown members refused, as the API server would drop them silently."""
    if not isinstance(schema, dict):
        return schema
    out = {name: strict(part) if name != "properties" else part for name, part in schema.items()}
    if "properties" in schema:
        out["properties"] = {name: strict(part) for name, part in schema["properties"].items()}
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            out.setdefault("additionalProperties", False)
    return out


def custom_schemas(files):
    schemas = {}
    for file in files:
        for crd in yaml.safe_load_all(open(file, encoding="utf8")):
            spec = crd["spec"]
            for version in spec["versions"]:
                key = (f'{spec["group"]}/{version["name"]}', spec["names"]["kind"])
                schema = strict(version["schema"]["openAPIV3Schema"])
                schema["properties"]["metadata"] = {"type": "object"}
                schemas[key] = schema
    return schemas


def faults_of(document, custom):
    schema = custom.get((document["apiVersion"], document["kind"]))
    if schema is not None:
        validator = jsonschema.Draft202012Validator(schema)
        return [f'{"/".join(map(str, e.absolute_path))}: {e.message}' for e in validator.iter_errors(document)]
    faults = []
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            faults.append(f'{version}: {"/".join(map(str, error.path))}: {error.message}')
        except (kubernetes_validate.SchemaNotFoundError, kubernetes_validate.InvalidSchemaError) as error:
            faults.append(f"{version}: {error}")
    return faults


def main(manifests, *crds):
    custom = custom_schemas(crds)
    documents = [d for d in yaml.safe_load_all(open(manifests, encoding="utf8")) if d]
    faulty = 0
    for document in documents:
        for fault in faults_of(document, custom):
            faulty += 1
            print(f'{document["kind"]} {document["metadata"]["name"]}: {fault}')
    print(f"{len(documents)} objects, {faulty} faults")
    sys.exit(1 if faulty or not documents else 0)


main(*sys.argv[1:])

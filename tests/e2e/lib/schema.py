"""schema.py SCHEMA.json [FILE] - does the JSON of FILE (stdin) meet the schema? One line for each fault, status 1 where there is one.

The keywords that exporters/schemas uses, and no others: an unknown one is a fault, too.
"""
import json
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$schema", "title", "description", "type", "required", "properties", "additionalProperties", "items", "enum", "const", "minimum",
         "maximum", "anyOf"}


def is_type(value, name):
    if name in ("integer", "number"):
        return not isinstance(value, bool) and isinstance(value, int if name == "integer" else (int, float))
    return isinstance(value, TYPES[name])


def faults(value, schema, at="$"):
    for key in set(schema) - KNOWN:
        yield f"{at}: the schema has the unknown keyword {key}"
    types = schema.get("type")
    if types and not any(is_type(value, t) for t in ([types] if isinstance(types, str) else types)):
        yield f"{at}: {type(value).__name__} is not {types}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{at}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is not one of {schema['enum']}"
    if "minimum" in schema and value < schema["minimum"] or "maximum" in schema and value > schema["maximum"]:
        yield f"{at}: {value!r} is out of range"
    if "anyOf" in schema and not any(not list(faults(value, s, at)) for s in schema["anyOf"]):
        yield f"{at}: no alternative fits: {[list(faults(value, s, at))[:2] for s in schema['anyOf']]}"
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                yield f"{at}: {name} is missing"
        for name, member in value.items():
            inner = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
            if isinstance(inner, dict):
                yield from faults(member, inner, f"{at}.{name}")
    if isinstance(value, list):
        for i, element in enumerate(value):
            yield from faults(element, schema.get("items", {}), f"{at}[{i}]")


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as f:
        SCHEMA = json.load(f)
    found = list(faults(json.load(open(sys.argv[2], encoding="utf-8") if len(sys.argv) > 2 else sys.stdin), SCHEMA))
    print("\n".join(found[:20]), end="\n" if found else "")
    sys.exit(bool(found))

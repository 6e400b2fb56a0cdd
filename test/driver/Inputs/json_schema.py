"""json_schema.py [--refuses] SCHEMA FILE: is FILE as SCHEMA (JSON Schema 2020-12) says?

Knows the keywords that docs/results.schema.json uses and stops at any other, so that
none is passed over in silence. Beyond the schema, which lets fields be added, a field
that no schema for its object names is an error. --refuses wants a FILE that is wrong."""
import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$schema", "$defs", "$ref", "title", "description", "type", "properties", "required", "enum", "const",
         "items", "minimum", "pattern", "allOf", "if", "then", "else", "not", "dependentRequired"}


def is_type(value, name):
    if name in ("number", "integer"):
        return (isinstance(value, (int, float)) and not isinstance(value, bool) and
                (name == "number" or float(value).is_integer()))
    return isinstance(value, TYPES[name])


def equal(a, b):
    return type(a) is type(b) and a == b or (is_type(a, "number") and is_type(b, "number") and a == b)


class Validator:
    def __init__(self, schema):
        self.root = schema

    def errors(self, value):
        return self.whole(value, self.root, "$")

    def whole(self, value, schema, at):
        """A value with all that is said of it."""
        errors, named = self.part(value, schema, at)
        if isinstance(value, dict) and named:
            errors += ["%s: `%s` is not in the schema" % (at, k) for k in value if k not in named]
        return errors

    def part(self, value, schema, at):
        errors, named = [], set()
        if set(schema) - KNOWN:
            sys.exit("a keyword that is not known here: %s" % sorted(set(schema) - KNOWN))

        def also(other):
            more, names = self.part(value, other, at)
            named.update(names)
            return more

        if "$ref" in schema:
            errors += also(self.root["$defs"][schema["$ref"].removeprefix("#/$defs/")])
        if "type" in schema:
            types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            if not any(is_type(value, t) for t in types):
                return ["%s: %.60r is no %s" % (at, value, " or ".join(types))], named
        if "enum" in schema and not any(equal(value, e) for e in schema["enum"]):
            errors.append("%s: %.60r is none of %s" % (at, value, schema["enum"]))
        if "const" in schema and not equal(value, schema["const"]):
            errors.append("%s: %.60r is not %r" % (at, value, schema["const"]))
        if "minimum" in schema and is_type(value, "number") and value < schema["minimum"]:
            errors.append("%s: %r is less than %r" % (at, value, schema["minimum"]))
        if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
            errors.append("%s: %.60r does not match %s" % (at, value, schema["pattern"]))
        if isinstance(value, dict):
            for key, sub in schema.get("properties", {}).items():
                named.add(key)
                if key in value:
                    errors += self.whole(value[key], sub, "%s.%s" % (at, key))
            errors += ["%s: `%s` is missing" % (at, k) for k in schema.get("required", []) if k not in value]
            for key, wanted in schema.get("dependentRequired", {}).items():
                errors += ["%s: `%s` is missing beside `%s`" % (at, k, key) for k in wanted if key in value and k not in value]
        if isinstance(value, list) and "items" in schema:
            for i, item in enumerate(value):
                errors += self.whole(item, schema["items"], "%s[%d]" % (at, i))
        for sub in schema.get("allOf", []):
            errors += also(sub)
        if "if" in schema:
            branch = schema.get("else" if self.part(value, schema["if"], at)[0] else "then")
            errors += also(branch) if branch else []
        if "not" in schema and not self.part(value, schema["not"], at)[0]:
            errors.append("%s: is what it must not be: %s" % (at, schema["not"]))
        return errors, named


def validate(schema_path, doc):
    with open(schema_path) as f:
        return Validator(json.load(f)).errors(doc)


if __name__ == "__main__":
    refuses = sys.argv[1] == "--refuses"
    with open(sys.argv[-1], "rb") as f:
        found = validate(sys.argv[-2], json.loads(f.read()))
    print("\n".join(found))
    if bool(found) != refuses:
        sys.exit("%s is as the schema says" % sys.argv[-1] if refuses else 1)

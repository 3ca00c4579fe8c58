"""validate_json.py SCHEMA FILE: each line of FILE is "+JSON" (must be valid) or "-JSON" (must not be).

Exit 0 when all are as said, 1 with the offending lines otherwise, 77 when no validator is installed. As a module:
validator(SCHEMA), None when none is installed.
"""
import json
import pathlib
import sys


def validator(schema_path):
    """A validator that finds the neighbours which the schema refers to."""
    try:
        import jsonschema
    except ImportError:
        return None
    schema_path = pathlib.Path(schema_path)
    schema = json.loads(schema_path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    store = {}
    for other in schema_path.parent.glob("*.schema.json"):
        contents = json.loads(other.read_text())
        store[contents.get("$id", other.name)] = contents
    try:
        from referencing import Registry, Resource

        registry = Registry().with_resources((name, Resource.from_contents(text)) for name, text in store.items())
        return jsonschema.Draft202012Validator(schema, registry=registry)
    except ImportError:  # before 4.18 references are resolved another way
        return jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver.from_schema(schema, store=store))


def main(schema_path, path):
    check = validator(schema_path)
    if check is None:
        print("no jsonschema module")
        return 77
    failed = count = 0
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        wanted, text = line[0] == "+", line[1:]
        errors = list(check.iter_errors(json.loads(text)))
        count += 1
        if wanted == bool(errors):
            failed += 1
            print(f"line {number}: wanted {'valid' if wanted else 'invalid'}: {text[:300].strip()}")
            for error in errors[:3]:
                print("   ", error.json_path, error.message[:200])
    print(f"{count} checked, {failed} not as wanted")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))

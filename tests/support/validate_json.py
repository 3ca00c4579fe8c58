"""validate_json.py SCHEMA FILE: each line of FILE is "+JSON" (must be valid) or "-JSON" (must not be).

Exit 0 when all are as said, 1 with the offending lines otherwise, 77 when no validator is installed.
"""
import json
import pathlib
import sys

try:
    import jsonschema
except ImportError:
    print("no jsonschema module")
    sys.exit(77)

schema_path = pathlib.Path(sys.argv[1])
schema = json.loads(schema_path.read_text())
jsonschema.Draft202012Validator.check_schema(schema)
try:
    from referencing import Registry, Resource

    registry = Registry()
    for other in schema_path.parent.glob("*.schema.json"):
        contents = json.loads(other.read_text())
        registry = registry.with_resource(contents.get("$id", other.name), Resource.from_contents(contents))
    validator = jsonschema.Draft202012Validator(schema, registry=registry)
except ImportError:  # before 4.18 references are resolved another way
    store = {}
    for other in schema_path.parent.glob("*.schema.json"):
        contents = json.loads(other.read_text())
        store[contents.get("$id", other.name)] = contents
    resolver = jsonschema.RefResolver.from_schema(schema, store=store)
    validator = jsonschema.Draft202012Validator(schema, resolver=resolver)

failed = count = 0
for number, line in enumerate(open(sys.argv[2], encoding="utf-8"), 1):
    wanted, text = line[0] == "+", line[1:]
    errors = list(validator.iter_errors(json.loads(text)))
    count += 1
    if wanted == bool(errors):
        failed += 1
        print(f"line {number}: wanted {'valid' if wanted else 'invalid'}: {text[:300].strip()}")
        for error in errors[:3]:
            print("   ", error.json_path, error.message[:200])
print(f"{count} checked, {failed} not as wanted")
sys.exit(1 if failed or not count else 0)

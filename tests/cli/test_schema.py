"""JSON Schemas and the page of keys: made of what the program checks, and fit for editors."""

import json
import tomllib
from pathlib import Path

import pytest
from docs.make_keys import PAGE, page, schemas
from tests.tradeoff.config.test_mutated_files import WHOLE

from trueval.cli.schema import FILES, schema_of
from trueval.cost.prices import BOOK
from trueval.files.toml_tables import describe_values

ROOT = PAGE.parents[1]
SWEEPS = [ROOT / "examples" / "sweep.toml", *sorted((ROOT / "docs" / "sweeps").glob("*.toml"))]


def test_the_page_of_keys_and_the_schemas_are_those_of_today() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python docs/make_keys.py"
    for path, text in schemas().items():
        kept = json.loads(path.read_text(encoding="utf-8"))
        assert kept == json.loads(text), "run: python docs/make_keys.py"  # an older pydantic writes 0.0 for 0


@pytest.mark.parametrize("file", FILES)
def test_the_command_prints_a_valid_schema_that_describes_every_key(trueval, file: str) -> None:
    validators = pytest.importorskip("jsonschema.validators")
    status, out, _ = trueval("schema", file)
    found = json.loads(out)
    assert (status, found) == (0, schema_of(file))
    validators.Draft202012Validator.check_schema(found)
    text = PAGE.read_text(encoding="utf-8")
    for name, table in found["properties"].items():
        assert table["description"], name
        for key in table.get("properties", {}).values():
            assert key["description"], name
            assert describe_values(key).removesuffix(", or a list of different ones") in text


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_examples_name_their_schema_in_the_first_line_and_fit_it(path: Path) -> None:
    validators = pytest.importorskip("jsonschema.validators")
    text = path.read_text(encoding="utf-8")
    mark, _, place = text.partition("\n")[0].partition(" ")
    assert (mark, (path.parent / place).resolve()) == ("#:schema", ROOT / "docs" / "schemas" / "sweep.json")
    schema = validators.Draft202012Validator(json.loads((path.parent / place).read_text(encoding="utf-8")))
    schema.validate(tomllib.loads(text))
    assert not schema.is_valid(tomllib.loads(text.replace("[index]", "[indx]")))
    assert not schema.is_valid(tomllib.loads(text.replace("contexts = [10", "contexts = [0").replace("= [5", "= [0")))


def test_a_schema_takes_what_the_program_takes() -> None:
    validators = pytest.importorskip("jsonschema.validators")
    validators.Draft202012Validator(schema_of("sweep")).validate(WHOLE)
    validators.Draft202012Validator(schema_of("prices")).validate(tomllib.loads(BOOK.read_text(encoding="utf-8")))

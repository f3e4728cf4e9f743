"""A table of names for `trueval probe join --table`, from the titles of a collection that has no authors.

A title is taken for a name where it has two words or more, all of them capitals at the front but particles, and no
particle after the first word: "Jakob Böhme", not "Bataille de Savenay", and so not "Pierre Du Bosc" either. Persons are
most of them; bands, clubs and places are among them, which are names as well.

    python benchmarks/names_of_titles.py ../shared/data/collections/piaf-v1.0-fr/corpus.jsonl names.csv
"""

import argparse
import csv
import json
from pathlib import Path

from trueval.probes.authors import PARTICLES


def is_name(title: str) -> bool:
    words = title.split()
    if len(words) < 2 or not title.replace("-", "").replace("'", "").replace(" ", "").isalpha():
        return False
    capitals = all(word[0].isupper() or word.lower() in PARTICLES for word in words)
    return capitals and words[0][0].isupper() and words[1].lower() not in PARTICLES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="lines of JSON with a title")
    parser.add_argument("table", type=Path, help="the CSV to write")
    chosen = parser.parse_args()
    with chosen.corpus.open(encoding="utf-8") as lines:
        titles = dict.fromkeys(json.loads(line).get("title", "") for line in lines)
    names = [title for title in titles if is_name(title)]
    with chosen.table.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(("author", "topic"))
        # A topic is asked for by the probe of bundles alone; here every name needs another one.
        rows.writerows((name, f"article {number}") for number, name in enumerate(names, 1))
    print(f"{len(names)} of {len(titles)} titles: {', '.join(names)}")


if __name__ == "__main__":
    main()

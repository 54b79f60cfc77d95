"""Raw census records to a synthetic CSV file: UCI Adult as published, text values and `?` for
missing.

    python examples/adult.py FOLDER synthetic.csv --epsilon 1

FOLDER holds the published files with a header line, such as adult-train.csv and adult-test.csv; all
of them are one table. Its schema, adult-schema.yaml, stands next to this script and comes from the
public code book.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import dprap
from dprap.encoding import write_table

SCHEMA = Path(__file__).with_name("adult-schema.yaml")


def main() -> None:
    """Read the arguments, make the release, write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("synthetic", type=Path)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--kway", type=int, default=2)
    parser.add_argument("--method", default=None)
    parser.add_argument(
        "--ledger", type=Path, help="where charges are written (default: beside FOLDER)"
    )
    chosen = parser.parse_args()
    schema = dprap.Schema.load(SCHEMA)
    method = {} if chosen.method is None else {"method": chosen.method}
    release = dprap.synthesize(
        f"{chosen.folder}/*.csv",
        schema,
        epsilon=chosen.epsilon,
        kway=chosen.kway,
        ledger=chosen.ledger,
        **method,
    )
    write_table(release.table(format="arrow"), chosen.synthetic, schema)


if __name__ == "__main__":
    main()

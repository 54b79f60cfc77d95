"""`python -m dprap` is the command `dprap`, where its script is not on the path."""

from __future__ import annotations

from dprap.cli import main

if __name__ == "__main__":
    main()

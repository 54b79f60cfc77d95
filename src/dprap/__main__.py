"""`python -m dprap` is the command `dprap`."""

from __future__ import annotations

from dprap.cli import main

if __name__ == "__main__":
    main()

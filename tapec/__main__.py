"""`python -m tapec` is `tapec`."""

import sys

from tapec.cli import main

if __name__ == "__main__":
    sys.exit(main())

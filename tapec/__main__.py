"""`python -m tapec` runs the command line `tapec`."""

import sys

from tapec.cli import main

if __name__ == "__main__":
    sys.exit(main())

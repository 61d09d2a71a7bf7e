"""The command line as ``python -m sk_han``."""

import sys

from sk_han.cli import main

if __name__ == "__main__":
    sys.exit(main())

"""`python -m devcluster --help`."""

import sys

from devcluster.cli import main

sys.exit(main(sys.argv[1:]))

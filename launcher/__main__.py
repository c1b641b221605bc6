"""`python3 -m launcher up | down | test | lint | smoke | clean | lock`.

This file also has to run on a Python that is too old, to say so: no newer syntax here, and imports only after the
check.
"""

import sys

if sys.version_info[:2] != (3, 11):
    sys.exit(
        "Slipway needs Python 3.11 and this is %d.%d. Install it, then run: make PYTHON=python3.11 up"
        % sys.version_info[:2]
    )

from launcher.commands import main

sys.exit(main(sys.argv[1:]))

"""``python -m mldf``: the command ``mldf``."""

import sys

from mldf_command import main

if __name__ == "__main__":
    sys.argv[0] = "mldf"
    main()

"""A service that tells how it was started, and serves nothing until it is stopped."""

from __future__ import annotations

import sys
import time

if __name__ == "__main__":
    print("serving", *sys.argv[1:], flush=True)
    time.sleep(600)

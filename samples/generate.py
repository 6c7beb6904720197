#!/usr/bin/env python3
"""Writes the sample files beside it. The same script writes the same bytes each time.

    python3 samples/generate.py
"""

import sys

sys.dont_write_bytecode = True

from generator.chats import chats  # noqa: E402
from generator.work_orders import csv_rows, work_orders  # noqa: E402

if __name__ == "__main__":
    chats()
    work_orders()
    csv_rows()

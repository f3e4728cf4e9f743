"""The twin and the generated lists of the truth suites, for tests of single measures."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "truth"))

"""Why a file is indexed as text only (EL-8). Values are stable: they are stored, counted and printed."""

from __future__ import annotations

TIME = "time"
MEMORY = "memory"
CRASH = "crash"
DEPTH = "depth"
BUDGET = "budget"  # other files had used up what one sync may spend on slow files; the next sync tries again

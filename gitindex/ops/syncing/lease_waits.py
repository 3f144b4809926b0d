"""How long commands wait for the lease of a store, in seconds. Light to import (UI-3)."""

from __future__ import annotations

LEASE_WAIT = 30.0
READ_WAIT = 2.0  # before a search: a sync of a few files ends within this time

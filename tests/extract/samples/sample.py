"""Accounts and their balance."""

from __future__ import annotations

import os.path as osp
import json, re
from .store import (
    Store,
    load as load_store,  # the old name
)
from typing import *

LIMIT = 10
default_store: Store = Store()


class Account(Base, metaclass=Meta):
    """A named balance."""

    kind = "plain"

    def __init__(self, owner: str, /, *, limit: int = LIMIT) -> None:
        self.owner = owner

    @property
    @cached
    async def balance(
        self,
        at: int,  # a day
    ) -> int:
        """Sum of all entries.

        Slow.
        """
        def inner(x):
            return x + 1

        return inner(self.store.entries(at).total())


# Opens the store
# of the user.
def open_account(name):
    return Account(name, limit=osp.join(name))


open_account("x").balance

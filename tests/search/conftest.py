"""A small indexed project to ask, with vectors of the stand-in embedder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitindex.config import Environment
from gitindex.ops.answers.search_answer import QueryAnswer, QueryOptions, query
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.search.hit import Hit
from gitindex.search.request import Request
from tests.support.gitrepo import GitRepo

FILES = {
    ".gitindex.toml": '[embedding]\nprovider = "fake"\n',
    "shop/cart.py": (
        "class ShoppingCart:\n"
        '    """Everything a customer wants to buy."""\n\n'
        "    def add_item(self, item, count=1):\n"
        '        """Put an item into the cart."""\n'
        "        self.items[item] = self.items.get(item, 0) + count\n\n"
        "    def total_price(self):\n"
        "        return sum(item.price * count for item, count in self.items.items())\n"
    ),
    "shop/payment.py": (
        "from shop.cart import ShoppingCart\n\n\n"
        "def charge_card(cart: ShoppingCart, card_number: str) -> bool:\n"
        '    """Charge the total price of the cart to a credit card."""\n'
        "    return bool(card_number) and cart.total_price() > 0\n\n\n"
        "def refund(payment_id):\n"
        "    raise NotImplementedError(payment_id)\n"
    ),
    "tests/test_cart.py": (
        "from shop.cart import ShoppingCart\n\n\n"
        "def test_add_item():\n"
        "    cart = ShoppingCart()\n"
        "    cart.add_item('apple')\n"
        "    assert cart.items == {'apple': 1}\n"
    ),
    "web/cart.js": "export function renderCart(cart) {\n  return cart.items.map((item) => item.name);\n}\n",
    "notes/jetson.md": (
        "---\ntags: [Jetson, edge computing]\ncreated_at: 2024-03-05\nsession_id: s-1\n"
        "summary: Flashing the board\n---\n\n# Flashing\n\nUse the recovery button to flash the board.\n"
    ),
    "notes/cuda.md": (
        "---\ntopics:\n  - cuda\n  - jetson\ncreated_at: 2024-05-20T10:00:00Z\nsession_id: s-2\n---\n\n"
        "# Kernels\n\nA kernel launch needs a grid and a recovery plan.\n"
    ),
    "notes/undated.md": "---\ntags: jetson\n---\n\nNo date on this recovery note.\n",
    "README.md": "# Shop\n\nA shop with a cart and payment by credit card.\n",
}


@dataclass(frozen=True)
class Asked:
    """An indexed repository and a short way to ask it."""

    repo: GitRepo
    codebase: Codebase

    def __call__(self, text: str = "", mode: str = "hybrid", **more: object) -> QueryAnswer:
        options = more.pop("options", None)
        assert options is None or isinstance(options, QueryOptions)
        return query(self.codebase, Request(text, mode, **more), options)  # type: ignore[arg-type]

    def hits(self, text: str = "", mode: str = "hybrid", **more: object) -> tuple[Hit, ...]:
        return self(text, mode, **more).result.hits

    def paths(self, text: str = "", mode: str = "hybrid", **more: object) -> list[str]:
        return [hit.path for hit in self.hits(text, mode, **more)]

    def sync(self) -> None:
        sync(self.codebase, SyncOptions(workers=1))


Ask = Callable[[dict[str, str]], Asked]


def indexed(repo: GitRepo, home: Path, files: dict[str, str]) -> Asked:
    repo.git("config", "user.name", "A U Thor")
    repo.git("config", "user.email", "author@example.com")
    repo.commit("first", **files)
    asked = Asked(repo, open_codebase(repo.root, Environment(home=home)))
    asked.sync()
    return asked


@pytest.fixture
def make(repo: GitRepo, home: Path) -> Ask:
    """A repository of the test's own with these files, indexed."""
    return lambda files: indexed(repo, home / ".gitindex", files)


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """The project, for tests that only ask."""
    root = tmp_path_factory.mktemp("shop")
    return indexed(GitRepo.create(root / "repo"), root / "home", FILES)


@pytest.fixture
def own(make: Ask) -> Asked:
    """The project, for tests that change it."""
    return make(FILES)

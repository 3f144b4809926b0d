"""The inputs that versions are tried on: one file per language, awkward texts, and a small project to ask."""

from __future__ import annotations

from gitindex.extract.extractor import extract
from gitindex.model.rows import Chunk, Extraction
from gitindex.model.settings import IndexSettings
from tests.extract.facts import SAMPLES

FILES: dict[str, bytes] = {path.name: path.read_bytes() for path in SAMPLES}

_LONG_FUNCTION = "".join(
    f"    if step == {at}:\n        total += weight_{at} * step  # part {at}\n\n" for at in range(60)
)
# Definitions of every length, so that each limit of the chunker lies between two of them.
_LENGTHS = "\n".join(
    f"def of_length_{count}(value):\n"
    + "".join(f"    value += {at}\n" for at in range(count))
    + "    return value\n"
    for count in range(0, 60, 3)
)
_BRACES = "".join(
    f"function nested_{count}() {{\n"
    + "".join(f"  step({at});\n\n" for at in range(count))
    + "}\n}\n"[: count % 3 + 2]
    for count in range(1, 40, 2)
)
TEXTS: dict[str, bytes] = {
    "lengths.py": _LENGTHS.encode(),
    "braces.js": _BRACES.encode(),
    "wide_margin.txt": "".join(f"{' ' * (at * 10)}line {at}\n\n" for at in range(30)).encode(),
    "long_function.py": f"def count_up(step):\n    total = 0\n{_LONG_FUNCTION}    return total\n".encode(),
    "one_line.js": ("var table = [" + ", ".join(f'"entry {at}"' for at in range(400)) + "];\n").encode(),
    "almost_long_line.txt": ("word " * 58).encode(),
    "prose.txt": "\n\n".join(f"Paragraph {at} says one thing. " * 6 for at in range(30)).encode(),
    "crlf.py": b"import os\r\n\r\n\r\ndef first():\r\n    return 1\r\n\r\n\r\ndef second():\r\n    return 2\r\n",
    "bom.md": "\ufeff# Größe\n\nText mit Umlauten: ä ö ü, 数え上げる, naïve_name.\n".encode(),
    "empty.py": b"",
    "blank.txt": b"\n\n   \n\t\n",
    "broken.py": b"def good(a):\n    return a\n\nx = = 3 )\n\nclass Fine:\n    def m(self):\n        pass\n",
}

WORDS = (
    "HTTPServer_v2",
    "parseJSON2XML getItem get_item GETITEM",
    "snake_case kebab-case dotted.name path/to/file.py",
    "ΑΒΓ naïve_Name 数え上げ straße I18N e2e",
    "a1b2c3 0x1F 1_000 3.14",
    "x" * 90 + " " + "Y" * 41,
    "__init__ _private $dollar @decorator #hash",
)

PROJECT: dict[str, str] = {
    ".gitindex.toml": '[embedding]\nprovider = "fake"\n',
    "shop/cart.py": '''class ShoppingCart:
    """Everything a customer wants to buy."""

    def add_item(self, item, count=1):
        """Put an item into the cart."""
        self.items[item] = self.items.get(item, 0) + count

    def total_price(self):
        return sum(item.price * count for item, count in self.items.items())
''',
    "shop/payment.py": '''from shop.cart import ShoppingCart


def charge_card(cart: ShoppingCart, card_number: str) -> bool:
    """Charge the total price of the cart to a credit card."""
    return bool(card_number) and cart.total_price() > 0


def refund_payment(payment_id):
    raise NotImplementedError(payment_id)
''',
    "shop/__init__.py": '"""A shop: cart and payment."""\n',
    "shop/payment.pyi": "def refund_payment(payment_id: str) -> None: ...\n",
    "shop/prices_pb2.py": "def total_price(): pass\n",
    "tests/test_cart.py": """from shop.cart import ShoppingCart


def test_add_item_to_the_cart():
    cart = ShoppingCart()
    cart.add_item("apple")
    assert cart.items == {"apple": 1}
""",
    "examples/buy.py": "from shop.cart import ShoppingCart\n\ncart = ShoppingCart()\ncart.add_item('pear')\n",
    "vendor/cart.py": "def add_item(item):\n    return item\n",
    "web/cart.js": "export function renderCart(cart) {\n  return cart.items.map((item) => item.name);\n}\n",
    "settings.yaml": "cart:\n  limit: 20\npayment:\n  card: required\n",
    "README.md": "# Shop\n\nA shop with a cart and payment by credit card.\n",
    "docs/refunds.md": "---\ntags: [refunds]\ncreated_at: 2024-03-05\n---\n\n# Refunds\n\nHow to refund a payment.\n",
}

# Each boost of the ranking decides at least one of these.
PASTED = (
    "Refunding a payment charges the card again\n\n"
    "`ShoppingCart.add_item` is fine, and so is shop/cart.py, but the card is charged twice.\n"
    "Traceback (most recent call last):\n"
    '  File "/srv/app/shop/payment.py", line 12, in refund_payment\n'
    "    raise PaymentError(-1)\n"
)
# Text, mode, and how results are shaped: "" for files with their places, or the name of an option.
QUESTIONS: tuple[tuple[str, str, str], ...] = (
    ("add_item", "hybrid", ""),
    ("ShoppingCart.add_item", "hybrid", ""),
    ("how is the total price of a cart computed", "hybrid", ""),
    ("tests that put an item into the cart", "hybrid", ""),
    ("refund a payment", "hybrid", ""),
    ("payment settings yaml", "hybrid", ""),
    ("charge credit card", "lexical", ""),
    ("refund_payment documentation", "lexical", ""),
    ("card number", "semantic", ""),
    ("cart", "symbol", ""),
    ("total", "symbol", ""),
    ("add an item to the cart", "hybrid", "files"),
    ("refund_payment", "hybrid", "files"),
    ("credit card payment", "lexical", "files"),
    ("price", "semantic", "files"),
    ("refund a payment", "hybrid", "flat"),
    ("tests that put an item into the cart", "lexical", "flat"),
    (PASTED, "hybrid", ""),
    (PASTED, "lexical", "files"),
)


def extract_project_file(path: str) -> Extraction:
    return extract(path, PROJECT[path].encode(), IndexSettings())


def plain_chunks(found: Extraction) -> list[Chunk]:
    """Words with one blank between them: the compiled loops and the others leave different white space."""
    return [
        chunk._replace(terms=" ".join(chunk.terms.split()), idents=" ".join(chunk.idents.split()))
        for chunk in found.chunks
    ]

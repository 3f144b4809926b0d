<?php
declare(strict_types=1);

namespace Shop\Model;

use Shop\Base;
use Shop\{Item, Price as Cost};
use function Shop\helper;
require_once __DIR__ . '/boot.php';

const LIMIT = 10;
define('OLD', 1);

/**
 * A cart.
 */
#[Entity]
final class Cart extends Base implements \Countable
{
    use Timestamps;
    public const MAX = 3;
    private ?string $owner = null, $other;

    public function __construct(private readonly int $id) {}

    /** Adds one. */
    public static function add(Item $item, int ...$rest): static
    {
        $this->items->push($item);
        return helper(new Cost(1), self::make($item), \strlen("x"));
    }
}

interface Priced { public function price(): int; }
trait Timestamps { protected int $at; }
enum Size: string { case Small = 's'; case Large = 'l'; }
function total(array $items = []): int { return array_sum($items); }

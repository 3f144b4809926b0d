import Foundation
import struct UIKit.CGFloat

/// The most.
let limit = 10

/// A cart.
@objc
public final class Cart<T: Item>: Base, Codable {
    static let shared = Cart()
    private(set) var items: [T] = []

    init(owner: String) {
        super.init(owner: owner)
    }

    // Adds one.
    public func add(_ item: T, count: Int = 1) throws -> Bool {
        items.append(item)
        return max(1, item.price().cents) > 0
    }

    deinit { close() }
}

protocol Priced { func price() -> Int }
struct Point { var x: Int }
enum Size { case small, large(Int) }
extension Cart { func total() -> Int { items.reduce(0, +) } }
typealias Names = [String]
func open(_ name: String) -> Cart<Item> { return Cart(owner: name) }

package com.example.shop

import java.util.*
import kotlin.math.max as largest

/** The most. */
const val LIMIT = 10
val names: List<String> by lazy { load() }
typealias Names = List<String>

/**
 * A cart.
 */
@Serializable
data class Cart(val owner: String, private var limit: Int = LIMIT) : Base(owner), Priced {
    var items = mutableListOf<Item>()

    override suspend fun add(item: Item): Boolean {
        items.add(item)
        return largest(1, item.price().cents) > 0
    }

    companion object {
        fun create(owner: String) = Cart(owner)
    }
}

interface Priced { fun price(): Int }
enum class Size { SMALL, LARGE }
object Registry { private val all = HashMap<String, Cart>() }
fun Cart.total(scale: Int): Int = items.sumOf { it.price() * scale }

package com.example.shop

import scala.collection.mutable
import java.util.{List => JList, Map}
import cats.implicits._

/** A cart. */
case class Cart[T <: Item](owner: String, limit: Int = 10) extends Base(owner) with Priced {
  val items = mutable.Buffer.empty[T]
  var count: Int = 0

  // Adds one.
  override def add(item: T)(implicit ctx: Context): Boolean = {
    items.append(item)
    math.max(1, item.price().cents) > 0
  }
}

object Cart {
  final val Limit = 10
  def apply(owner: String): Cart[Item] = new Cart[Item](owner)
}

trait Priced { def price(): Int }
type Names = List[String]
enum Size { case Small, Large }
def total(xs: List[Int]): Int = xs.foldLeft(0)(_ + _)

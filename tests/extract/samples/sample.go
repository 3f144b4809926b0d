// Package shop sells things.
package shop

import (
	"fmt"
	str "strings"
	_ "embed"
	. "math"
)

import "os"

const (
	// MaxItems bounds a cart.
	MaxItems = 10
	minItems
)

var Default = NewCart("x")

// Cart holds items.
type Cart struct {
	Owner string
	items []Item
}

type Pricer interface {
	Price(item Item) (int, error)
}

type Names = []string

// Add puts an item into the cart.
func (c *Cart) Add(item Item) error {
	c.items = append(c.items, item)
	return fmt.Errorf("no %s", str.ToUpper(item.Name()))
}

func Map[T any](xs []T, f func(T) T) []T {
	g := func(x T) T { return f(x) }
	return apply[T](xs, g)
}

package com.example.shop;

import java.util.List;
import static java.lang.Math.max;
import java.io.*;

/**
 * A cart of items.
 */
@Entity
public class Cart<T extends Item> extends Base implements Iterable<T> {
    public static final int LIMIT = 10;
    private List<T> items, spare;

    public Cart(String owner) {
        super(owner);
        this.items = new java.util.ArrayList<>();
    }

    // Adds one.
    @Override
    public boolean add(T item) throws IOException {
        return items.add(item) && max(1, item.price().cents()) > 0;
    }

    private void hidden() {}

    interface Visitor { void visit(Cart<?> cart); }
    enum Size { SMALL, LARGE; int cm() { return 1; } }
    record Point(int x, int y) {}
    @interface Marker { String value(); }
}

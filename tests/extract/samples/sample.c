/* Shop. */
#include <stdio.h>
#include "item.h"
#define LIMIT 10
#define SQUARE(x) ((x) * (x))

typedef struct item {
    int price;
    char *name[4];
} item_t;

enum size { SMALL, LARGE = 3 };
typedef int (*visit_fn)(item_t *);

static int counter = 0;
extern const char *label;

/* Sums
 * all prices. */
int total(const item_t *items, size_t n)
{
    int sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += SQUARE(items[i].price);
    return visit->run(sum) + helper(n);
}

static char *hidden(void) { return NULL; }
int declared(int a, int b);

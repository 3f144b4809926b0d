#include "scan.h"

/* `cuts.cut` with the blank lines around each range taken off. */

typedef struct {
    Py_ssize_t first, last; /* rows, half-open */
    Py_ssize_t inner, next; /* blocks: the first inside, the next beside; -1 for none */
} Block;

/* A block on its way: what is held back, and the block inside it that comes next. */
typedef struct {
    Py_ssize_t block, begin, end, at, inner;
} Level;

typedef struct {
    const unsigned char *data;
    Py_ssize_t size, rows;
    Py_ssize_t *starts, *chars; /* of each row, and one more: code points before it */
    Block *blocks;
    Level *levels;
    Py_ssize_t depth;
    Py_ssize_t target, whole, crumb, looked_at, after_blank;
    PyObject *found;
} Cutter;

static int find_rows(Cutter *cutter) {
    Py_ssize_t rows = 1, row = 0, seen = 0;
    const unsigned char *data = cutter->data;
    for (Py_ssize_t at = 0; at < cutter->size; at++) rows += data[at] == '\n';
    cutter->starts = malloc((size_t)(rows + 1) * sizeof(Py_ssize_t));
    cutter->chars = malloc((size_t)(rows + 1) * sizeof(Py_ssize_t));
    if (!cutter->starts || !cutter->chars) return PyErr_NoMemory(), -1;
    cutter->rows = rows;
    cutter->starts[0] = cutter->chars[0] = 0;
    for (Py_ssize_t at = 0; at < cutter->size; at++) {
        seen += !continues(data[at]);
        if (data[at] != '\n') continue;
        cutter->starts[++row] = at + 1;
        cutter->chars[row] = seen;
    }
    cutter->starts[rows] = cutter->size;
    cutter->chars[rows] = seen;
    return 0;
}

static int outer_first(const void *left, const void *right) {
    const Block *a = left, *b = right;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return (a->last < b->last) - (a->last > b->last);
}

static Py_ssize_t row_of(PyObject *extent, Py_ssize_t which) {
    PyObject *value = PySequence_GetItem(extent, which);
    Py_ssize_t row = value ? PyLong_AsSsize_t(value) : -1;
    Py_XDECREF(value);
    return row;
}

/* How many extents span several rows, read behind the root block; -1 with an exception. */
static Py_ssize_t read_extents(Cutter *cutter, PyObject *extents, Py_ssize_t count) {
    Py_ssize_t kept = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *extent = PySequence_GetItem(extents, at);
        if (!extent) return -1;
        Py_ssize_t first = row_of(extent, 0), last = first < 0 ? -1 : row_of(extent, 1);
        Py_DECREF(extent);
        if (first < 0 || last < 0 || last >= cutter->rows) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a definition lies outside the data");
            return -1;
        }
        if (last > first) cutter->blocks[++kept] = (Block){first, last + 1, -1, -1};
    }
    return kept;
}

/* Nest the extents below block 0; one that overlaps its neighbour's last row joins it. */
static int nest(Cutter *cutter, PyObject *extents) {
    Py_ssize_t count = PySequence_Size(extents);
    if (count < 0) return -1;
    cutter->blocks = malloc((size_t)(count + 1) * sizeof(Block));
    cutter->levels = malloc((size_t)(count + 1) * sizeof(Level));
    Py_ssize_t *last = malloc((size_t)(count + 1) * sizeof(Py_ssize_t)); /* inside each block on the way */
    Py_ssize_t *way = malloc((size_t)(count + 1) * sizeof(Py_ssize_t)), depth = 0;
    int failed = !cutter->blocks || !cutter->levels || !last || !way;
    if (failed) PyErr_NoMemory();
    Py_ssize_t kept = failed ? -1 : read_extents(cutter, extents, count);
    if (kept >= 0) {
        Block *blocks = cutter->blocks;
        blocks[0] = (Block){0, cutter->rows, -1, -1};
        way[0] = 0, last[0] = -1;
        qsort(blocks + 1, (size_t)kept, sizeof(Block), outer_first);
        for (Py_ssize_t at = 1; at <= kept; at++) {
            while (depth && blocks[way[depth]].last <= blocks[at].first) depth--;
            if (depth && blocks[at].last > blocks[way[depth]].last) continue;
            if (last[depth] < 0)
                blocks[way[depth]].inner = at;
            else
                blocks[last[depth]].next = at;
            last[depth++] = at;
            way[depth] = at, last[depth] = -1;
        }
    }
    free(last);
    free(way);
    return kept < 0 ? -1 : 0;
}

/* The first of rows `low` to `high` that starts behind `chars` code points, `high` if none does. */
static Py_ssize_t row_behind(const Cutter *cutter, Py_ssize_t chars, Py_ssize_t low, Py_ssize_t high) {
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (cutter->chars[middle] > chars)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The row up to `end` in the second half at which cutting hurts least: after a blank line, else a shallow one. */
static Py_ssize_t best_row(const Cutter *cutter, Py_ssize_t first, Py_ssize_t end) {
    Py_ssize_t low = row_behind(cutter, cutter->chars[first] + cutter->target / 2, first + 1, end);
    Py_ssize_t best = end, cost = PY_SSIZE_T_MAX;
    int blank_before = 0;
    for (Py_ssize_t row = low - 1; row <= end; row++) {
        Py_ssize_t begin = cutter->starts[row], at = begin;
        Py_ssize_t last = cutter->starts[row + 1] - (row + 1 < cutter->rows); /* without its line feed */
        if (last - begin > cutter->looked_at) last = begin + cutter->looked_at;
        while (at < last && is_blank(cutter->data[at])) at++;
        Py_ssize_t price = at - begin - (blank_before ? cutter->after_blank : 0);
        blank_before = at == last;
        if (row >= low && !blank_before && price <= cost) best = row, cost = price; /* of equals the last */
    }
    return best;
}

/* Where the next range of text from `first` to `last` ends. */
static Py_ssize_t next_cut(const Cutter *cutter, Py_ssize_t first, Py_ssize_t last) {
    if (cutter->chars[last] - cutter->chars[first] <= cutter->whole || last - first <= 1) return last;
    Py_ssize_t end = row_behind(cutter, cutter->chars[first] + cutter->target, first + 1, last) - 1;
    if (end <= first) return first + 1; /* a first line longer than the target stands alone */
    return best_row(cutter, first, end < last - 1 ? end : last - 1);
}

static int emit(Cutter *cutter, Py_ssize_t first, Py_ssize_t last) {
    Py_ssize_t begin = cutter->starts[first], end = cutter->starts[last];
    while (end > begin && is_blank(cutter->data[end - 1])) end--;
    if (end == begin) return 0;
    while (is_blank(cutter->data[begin])) begin++;
    while (cutter->starts[first + 1] <= begin) first++;
    while (cutter->starts[last - 1] >= end) last--;
    PyObject *span = Py_BuildValue("(nnnn)", cutter->starts[first], end, first, last - 1);
    int failed = !span || PyList_Append(cutter->found, span);
    Py_XDECREF(span);
    return failed ? -1 : 0;
}

static int emit_text(Cutter *cutter, Py_ssize_t first, Py_ssize_t last) {
    while (first < last) {
        Py_ssize_t end = next_cut(cutter, first, last);
        if (emit(cutter, first, end)) return -1;
        first = end;
    }
    return 0;
}

/* The next part of a level: held back with its neighbours, or told if too large. */
static int take(Cutter *cutter, Level *level, Py_ssize_t first, Py_ssize_t last, int definition) {
    const Py_ssize_t *chars = cutter->chars;
    Py_ssize_t size = chars[last] - chars[first], together = chars[last] - chars[level->begin];
    int crumb = !definition && size <= cutter->crumb && together <= cutter->whole;
    int held = level->end > level->begin;
    if (held && (size > cutter->whole || (together > cutter->target && !crumb))) {
        if (emit(cutter, level->begin, level->end)) return -1;
        level->begin = first;
    }
    level->end = last;
    if (size <= cutter->whole) return 0;
    level->begin = last;
    return emit_text(cutter, first, last);
}

/* Text between definitions: one part if small, else cut like any large text. */
static int take_text(Cutter *cutter, Level *level, Py_ssize_t first, Py_ssize_t last) {
    while (first < last) {
        Py_ssize_t end = next_cut(cutter, first, last);
        if (take(cutter, level, first, end, 0)) return -1;
        first = end;
    }
    return 0;
}

static void enter(Cutter *cutter, Py_ssize_t number) {
    const Block *block = &cutter->blocks[number];
    cutter->levels[cutter->depth++] = (Level){number, block->first, block->first, block->first, block->inner};
}

static int cut_blocks(Cutter *cutter) {
    enter(cutter, 0);
    while (cutter->depth) {
        Level *level = &cutter->levels[cutter->depth - 1];
        if (level->inner < 0) {
            if (take_text(cutter, level, level->at, cutter->blocks[level->block].last)) return -1;
            if (level->end > level->begin && emit(cutter, level->begin, level->end)) return -1;
            cutter->depth--;
            continue;
        }
        Py_ssize_t number = level->inner;
        const Block *block = &cutter->blocks[number];
        if (take_text(cutter, level, level->at, block->first)) return -1;
        level->at = block->last;
        level->inner = block->next;
        Py_ssize_t size = cutter->chars[block->last] - cutter->chars[block->first];
        if (size <= cutter->whole || block->inner < 0) {
            if (take(cutter, level, block->first, block->last, 1)) return -1;
            continue;
        }
        if (level->end > level->begin && emit(cutter, level->begin, level->end)) return -1;
        level->begin = level->end = block->last;
        enter(cutter, number);
    }
    return 0;
}

PyObject *spans_of(PyObject *self, PyObject *args) {
    (void)self;
    Py_buffer data;
    PyObject *extents;
    Cutter cutter = {0};
    if (!PyArg_ParseTuple(args, "y*Onnnnn", &data, &extents, &cutter.target, &cutter.whole, &cutter.crumb,
                          &cutter.looked_at, &cutter.after_blank))
        return NULL;
    cutter.data = data.buf;
    cutter.size = data.len;
    cutter.found = PyList_New(0);
    if (!cutter.found || find_rows(&cutter) || nest(&cutter, extents) || cut_blocks(&cutter))
        Py_CLEAR(cutter.found);
    free(cutter.starts);
    free(cutter.chars);
    free(cutter.blocks);
    free(cutter.levels);
    PyBuffer_Release(&data);
    return cutter.found;
}

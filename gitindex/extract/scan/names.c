#include "scan.h"

typedef struct {
    int32_t name;
    uint32_t line, column;
} Place;

typedef struct {
    Names names;
    Place *places;
    Py_ssize_t count, room;
} Found;

static int found_add(Found *found, const unsigned char *text, Py_ssize_t size, uint32_t line, uint32_t column) {
    if (found->count == found->room) {
        Py_ssize_t room = found->room ? found->room * 2 : 256;
        Place *places = realloc(found->places, (size_t)room * sizeof(Place));
        if (!places) return -1;
        found->places = places;
        found->room = room;
    }
    Py_ssize_t name = names_number(&found->names, text, size);
    if (name < 0) return -1;
    found->places[found->count++] = (Place){(int32_t)name, line, column};
    return 0;
}

static int scan_names(Found *found, const unsigned char *painted, const unsigned char *data, Py_ssize_t size,
                      Py_ssize_t most) {
    uint32_t line = 1, column = 0; /* of the code point that was seen last */
    Py_ssize_t at = 0;
    while (at < size) {
        Py_ssize_t begin = at;
        uint32_t first = 0;
        for (; at < size && KIND[painted[at]] != OTHER; at++) {
            if (!continues(data[at])) column++;
            if (at == begin) first = column + continues(data[at]);
        }
        if (at > begin) {
            if (KIND[painted[begin]] != DIGIT && at - begin <= most &&
                found_add(found, painted + begin, at - begin, line, first))
                return -1;
            continue;
        }
        if (data[at] == '\n')
            line++, column = 0;
        else if (!continues(data[at]))
            column++;
        at++;
    }
    return 0;
}

static int by_text(const void *left, const void *right) {
    const Entry *a = *(Entry *const *)left, *b = *(Entry *const *)right;
    int order = memcmp(a->text, b->text, (size_t)(a->size < b->size ? a->size : b->size));
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static unsigned char *varint(unsigned char *out, uint32_t value) {
    for (; value > 127; value >>= 7) *out++ = (unsigned char)(value | 128);
    *out++ = (unsigned char)value;
    return out;
}

/* [(name, positions)] in order of name, without keywords. */
static PyObject *grouped(Found *found, PyObject *keywords) {
    Py_ssize_t names = found->names.count, total = found->count;
    Py_ssize_t *ends = calloc((size_t)names + 1, sizeof(Py_ssize_t));
    Entry **order = malloc(((size_t)names + 1) * sizeof(Entry *));
    Place *places = malloc(((size_t)total + 1) * sizeof(Place));
    unsigned char *packed = malloc((size_t)total * 10 + 10);
    PyObject *list = NULL;
    if (!ends || !order || !places || !packed) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t at = 0; at < total; at++) ends[found->places[at].name + 1]++;
    for (Py_ssize_t at = 0; at < names; at++) ends[at + 1] += ends[at];
    for (Py_ssize_t at = 0; at < total; at++) places[ends[found->places[at].name]++] = found->places[at];
    for (Py_ssize_t at = 0; at < names; at++) order[at] = &found->names.entries[at];
    qsort(order, (size_t)names, sizeof(Entry *), by_text);
    list = PyList_New(0);
    for (Py_ssize_t at = 0; list && at < names; at++) {
        Py_ssize_t number = order[at] - found->names.entries;
        PyObject *word = PyBytes_FromStringAndSize((const char *)order[at]->text, order[at]->size);
        int banned = word ? PySet_Contains(keywords, word) : -1;
        Py_XDECREF(word);
        if (banned) {
            if (banned < 0) Py_CLEAR(list);
            continue;
        }
        unsigned char *out = packed;
        uint32_t last = 0;
        for (Py_ssize_t place = number ? ends[number - 1] : 0; place < ends[number]; place++) {
            out = varint(out, places[place].line - last);
            out = varint(out, places[place].column);
            last = places[place].line;
        }
        PyObject *name = PyUnicode_DecodeUTF8((const char *)order[at]->text, order[at]->size, "replace");
        PyObject *pair = name ? Py_BuildValue("(Ny#)", name, (char *)packed, (Py_ssize_t)(out - packed)) : NULL;
        if (!pair || PyList_Append(list, pair)) Py_CLEAR(list);
        Py_XDECREF(pair);
    }
done:
    free(ends);
    free(order);
    free(places);
    free(packed);
    return list;
}

/* A stretch of literal or comment, or of code inside one. */
typedef struct {
    Py_ssize_t begin, end;
    int hidden;
} Stretch;

static int outer_first(const void *left, const void *right) {
    const Stretch *a = left, *b = right;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end) return a->end > b->end ? -1 : 1;
    return a->hidden - b->hidden;
}

static int stretches(Stretch *out, PyObject *nodes, int hidden, Py_ssize_t size) {
    Py_ssize_t count = PyList_Size(nodes);
    Extent *extents = malloc((size_t)(count + 1) * sizeof(Extent));
    int failed = extents ? node_extents(extents, nodes, count, size) : (PyErr_NoMemory(), 1);
    for (Py_ssize_t at = 0; !failed && at < count; at++)
        out[at] = (Stretch){extents[at].begin, extents[at].end, hidden};
    free(extents);
    return failed;
}

/* The data with blanks for what is hidden; later, inner stretches have the last word. */
static unsigned char *painted(Py_buffer *data, PyObject *hidden, PyObject *shown) {
    Py_ssize_t count = PyList_Size(hidden), inner = PyList_Size(shown);
    Stretch *all = malloc((size_t)(count + inner + 1) * sizeof(Stretch));
    unsigned char *out = malloc((size_t)data->len + 1);
    if (!all || !out) {
        PyErr_NoMemory();
        goto failed;
    }
    if (stretches(all, hidden, 1, data->len) || stretches(all + count, shown, 0, data->len)) goto failed;
    if (inner) qsort(all, (size_t)(count + inner), sizeof(Stretch), outer_first);
    memcpy(out, data->buf, (size_t)data->len);
    for (Py_ssize_t at = 0; at < count + inner; at++) {
        size_t length = (size_t)(all[at].end - all[at].begin);
        if (all[at].hidden)
            memset(out + all[at].begin, ' ', length);
        else
            memcpy(out + all[at].begin, (unsigned char *)data->buf + all[at].begin, length);
    }
    free(all);
    return out;
failed:
    free(all);
    free(out);
    return NULL;
}

PyObject *names_in(PyObject *self, PyObject *args) {
    (void)self;
    Py_buffer data;
    PyObject *hidden, *shown, *keywords;
    Py_ssize_t most;
    if (!PyArg_ParseTuple(args, "y*O!O!On", &data, &PyList_Type, &hidden, &PyList_Type, &shown, &keywords, &most))
        return NULL;
    PyObject *list = NULL;
    Found found = {0};
    unsigned char *text = painted(&data, hidden, shown);
    if (text && data.len > INT32_MAX)
        PyErr_SetString(PyExc_ValueError, "too many bytes for one file");
    else if (text && scan_names(&found, text, data.buf, data.len, most))
        PyErr_NoMemory();
    else if (text)
        list = grouped(&found, keywords);
    free(text);
    free(found.places);
    names_free(&found.names);
    PyBuffer_Release(&data);
    return list;
}

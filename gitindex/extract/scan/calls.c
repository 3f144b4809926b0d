#include "scan.h"

/* `calls.calls`: what each call names, what stands before the name, where, and inside which definition. */

typedef struct {
    Py_ssize_t at, end, begin; /* of the callee's name, and of what stands before it */
} Site;

typedef struct {
    Py_ssize_t begin, end;
    PyObject *symbol; /* borrowed */
} Owner;

typedef struct {
    const unsigned char *data;
    Py_ssize_t size;
    Site *sites;
    Py_ssize_t count;
    Owner *owners;
    Py_ssize_t owned;
    Py_ssize_t tail, shown, most;
    PyObject *find, *fold;
} Calls;

static int is_name(unsigned char byte) {
    int kind = KIND[byte];
    return kind == LOWER || kind == UPPER || kind == DIGIT || kind == UNDERSCORE || byte == '$';
}

static int within(const Calls *calls, Site site) {
    if (0 <= site.at && site.at <= site.end && site.end <= calls->size && 0 <= site.begin && site.begin <= calls->size)
        return 1;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a call lies outside the data");
    return 0;
}

/* Python looks for the name where it is not simply the last word. */
static int odd_site(Calls *calls, Extent node, Py_ssize_t low) {
    PyObject *place = PyObject_CallFunction(calls->find, "y#", calls->data + low, node.end - low);
    if (!place) return -1;
    Site site = {0, 0, node.begin};
    int told = place != Py_None;
    int failed = told && !PyArg_ParseTuple(place, "nn", &site.at, &site.end);
    Py_DECREF(place);
    if (failed || !told) return failed ? -1 : 0;
    site.at += low, site.end += low;
    if (!within(calls, site)) return -1;
    calls->sites[calls->count++] = site;
    return 0;
}

static int node_site(Calls *calls, Extent node) {
    Py_ssize_t low = node.end - node.begin < calls->tail ? node.begin : node.end - calls->tail, at = node.end;
    while (at > low && is_name(calls->data[at - 1])) at--;
    if (at == node.end || (at > low && calls->data[at - 1] != '.')) return odd_site(calls, node, low);
    calls->sites[calls->count++] = (Site){at, node.end, node.begin};
    return 0;
}

static int in_order(const void *left, const void *right) {
    const Site *a = left, *b = right;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    if (a->end != b->end) return a->end < b->end ? -1 : 1;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

static int find_sites(Calls *calls, PyObject *nodes, PyObject *others) {
    Py_ssize_t plain = PyList_Size(nodes), more = PyList_Size(others);
    Extent *extents = malloc((size_t)(plain + 1) * sizeof(Extent));
    calls->sites = malloc((size_t)(plain + more + 1) * sizeof(Site));
    int failed = !extents || !calls->sites;
    if (failed)
        PyErr_NoMemory();
    else
        failed = node_extents(extents, nodes, plain, calls->size);
    for (Py_ssize_t at = 0; !failed && at < plain; at++) failed = node_site(calls, extents[at]);
    for (Py_ssize_t at = 0; !failed && at < more; at++) {
        Site site;
        failed = !PyArg_ParseTuple(PyList_GetItem(others, at), "nnn", &site.at, &site.end, &site.begin) ||
                 !within(calls, site);
        if (!failed) calls->sites[calls->count++] = site;
    }
    free(extents);
    if (failed) return -1;
    qsort(calls->sites, (size_t)calls->count, sizeof(Site), in_order);
    return 0;
}

static int read_owners(Calls *calls, PyObject *owners) {
    calls->owned = PyTuple_Size(owners);
    calls->owners = malloc((size_t)(calls->owned + 1) * sizeof(Owner));
    if (!calls->owners) return PyErr_NoMemory(), -1;
    for (Py_ssize_t at = 0; at < calls->owned; at++) {
        Owner *owner = &calls->owners[at];
        if (!PyArg_ParseTuple(PyTuple_GetItem(owners, at), "nnO", &owner->begin, &owner->end, &owner->symbol))
            return -1;
    }
    return 0;
}

static PyObject *receiver(const Calls *calls, Site site) {
    const unsigned char *text = calls->data + site.begin;
    Py_ssize_t size = site.at > site.begin ? site.at - site.begin : 0, plain = 0;
    while (size && strchr(" \t\r\n.:?&>-\\", text[size - 1]) && text[size - 1]) size--;
    Py_ssize_t shown = size < calls->shown ? size : calls->shown;
    while (plain < shown && text[plain] > ' ' && text[plain] < 127) plain++;
    if (plain == shown) return PyUnicode_DecodeUTF8((const char *)text, shown, "replace");
    return PyObject_CallFunction(calls->fold, "y#", text, size < calls->most ? size : calls->most);
}

static PyObject *told(Calls *calls) {
    PyObject *found = PyList_New(0), *nobody = PyLong_FromLong(-1);
    Py_ssize_t seen = 0, line = 1, column = 1, coming = 0, depth = 0;
    Owner *way = malloc((size_t)(calls->owned + 1) * sizeof(Owner)); /* around the site, outer first */
    if (!way) PyErr_NoMemory();
    if (!way || !nobody) Py_CLEAR(found);
    for (Py_ssize_t at = 0; found && at < calls->count; at++) {
        Site site = calls->sites[at];
        for (; seen < site.at; seen++) {
            column += !continues(calls->data[seen]);
            if (calls->data[seen] == '\n') line++, column = 1;
        }
        while (coming < calls->owned && calls->owners[coming].begin <= site.at) way[depth++] = calls->owners[coming++];
        while (depth && way[depth - 1].end <= site.at) depth--;
        PyObject *name = PyUnicode_DecodeUTF8((const char *)calls->data + site.at, site.end - site.at, "replace");
        PyObject *before = name ? receiver(calls, site) : NULL;
        PyObject *row = before ? Py_BuildValue("(OOnnO)", name, before, line, column,
                                               depth ? way[depth - 1].symbol : nobody)
                               : NULL;
        if (!row || PyList_Append(found, row)) Py_CLEAR(found);
        Py_XDECREF(row);
        Py_XDECREF(before);
        Py_XDECREF(name);
    }
    free(way);
    Py_XDECREF(nobody);
    return found;
}

PyObject *calls_in(PyObject *self, PyObject *args) {
    (void)self;
    Py_buffer data;
    PyObject *nodes, *others, *owners, *found = NULL;
    Calls calls = {0};
    if (!PyArg_ParseTuple(args, "y*O!O!O!nOnnO", &data, &PyList_Type, &nodes, &PyList_Type, &others, &PyTuple_Type,
                          &owners, &calls.tail, &calls.find, &calls.shown, &calls.most, &calls.fold))
        return NULL;
    calls.data = data.buf;
    calls.size = data.len;
    if (calls.tail < 0 || calls.shown < 0 || calls.most < 0)
        PyErr_SetString(PyExc_ValueError, "a length is negative");
    else if (!find_sites(&calls, nodes, others) && !read_owners(&calls, owners)) found = told(&calls);
    free(calls.sites);
    free(calls.owners);
    PyBuffer_Release(&data);
    return found;
}

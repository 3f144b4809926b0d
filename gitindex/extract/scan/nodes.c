#include "scan.h"

static Py_ssize_t number_of(PyObject *node, PyObject *attribute) {
    PyObject *value = PyObject_GetAttr(node, attribute);
    Py_ssize_t number = value ? PyLong_AsSsize_t(value) : -1;
    Py_XDECREF(value);
    return number;
}

/* 0, or -1 with an exception: no node may lie outside `size` bytes. */
int node_extents(Extent *out, PyObject *nodes, Py_ssize_t count, Py_ssize_t size) {
    PyObject *begin = PyUnicode_InternFromString("start_byte"), *end = PyUnicode_InternFromString("end_byte");
    int failed = !begin || !end;
    for (Py_ssize_t at = 0; !failed && at < count; at++) {
        PyObject *node = PyList_GetItem(nodes, at); /* NULL where the list has become shorter */
        out[at].begin = node ? number_of(node, begin) : -1;
        out[at].end = out[at].begin < 0 ? -1 : number_of(node, end);
        failed = out[at].begin < 0 || out[at].end < out[at].begin || out[at].end > size;
        if (failed && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a node lies outside the data");
    }
    Py_XDECREF(begin);
    Py_XDECREF(end);
    return failed ? -1 : 0;
}

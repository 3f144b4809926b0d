#include "scan.h"

PyObject *starts_of(PyObject *self, PyObject *bytes) {
    (void)self;
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(bytes, &data, &size)) return NULL;
    PyObject *found = PyList_New(0);
    const char *at = data, *end = data + size;
    for (int more = 1; found && more;) {
        PyObject *start = PyLong_FromSsize_t(at - data);
        if (!start || PyList_Append(found, start)) Py_CLEAR(found);
        Py_XDECREF(start);
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        more = feed != NULL;
        if (feed) at = feed + 1;
    }
    return found;
}

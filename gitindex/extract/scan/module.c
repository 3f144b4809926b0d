#include "scan.h"

#define VERSION 3 /* as `native` expects it: an older build in the same place must not be used */

static PyMethodDef METHODS[] = {
    {"starts", starts_of, METH_O, "starts(data) -> [offset of each line]"},
    {"words", words_of, METH_VARARGS, "words(texts, most, finish) -> [(terms, compounds) or None]"},
    {"names", names_in, METH_VARARGS, "names(data, hidden, shown, keywords, most) -> [(name, positions)]"},
    {"spans", spans_of, METH_VARARGS,
     "spans(data, extents, target, whole, crumb, looked_at, after_blank) -> [(start, end, first, last)]"},
    {"calls", calls_in, METH_VARARGS,
     "calls(data, nodes, others, owners, tail, find, shown, most, fold) -> [(callee, receiver, line, column, owner)]"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_scan", NULL, -1, METHODS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__scan(void) {
    fill_tables();
    seed_names();
    PyObject *module = PyModule_Create(&MODULE);
    if (module && PyModule_AddIntConstant(module, "VERSION", VERSION)) Py_CLEAR(module);
    return module;
}

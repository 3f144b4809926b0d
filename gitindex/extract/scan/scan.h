/* The loops over every byte of every file, compiled: of `words`, `identifiers`, `cuts` and `calls`.
 *
 * Python decides what counts (limits, keywords, letters beyond ASCII) and says the same without this module, only
 * slower; tests hold both against each other. Nothing here trusts its input: every index is checked against the
 * length of the buffer it is for.
 */
#ifndef GITINDEX_SCAN_H
#define GITINDEX_SCAN_H

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* signs.c: what a byte is to a word */
enum { OTHER, LOWER, UPPER, DIGIT, UNDERSCORE, BEYOND };
extern unsigned char KIND[256], FOLDED[256];
void fill_tables(void);
static inline int is_blank(unsigned char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }
/* Of a code point of UTF-8 that began before? */
static inline int continues(unsigned char byte) { return (byte & 0xC0) == 0x80; }

/* nameset.c: distinct byte strings that lie in buffers of the caller; their numbers stay valid as it grows */
typedef struct {
    const unsigned char *text;
    Py_ssize_t size;
    uint64_t hash;
} Entry;

typedef struct {
    Entry *entries;
    Py_ssize_t count, room;
    int32_t *slots; /* entry number + 1; 0 is free */
    size_t mask;
} Names;

void seed_names(void);
Py_ssize_t names_number(Names *names, const unsigned char *text, Py_ssize_t size);
void names_clear(Names *names); /* keeps the memory */
void names_free(Names *names);

/* nodes.c: byte ranges of syntax nodes */
typedef struct {
    Py_ssize_t begin, end;
} Extent;

int node_extents(Extent *out, PyObject *nodes, Py_ssize_t count, Py_ssize_t size);

/* What Python calls. */
PyObject *starts_of(PyObject *self, PyObject *data);
PyObject *words_of(PyObject *self, PyObject *args);
PyObject *names_in(PyObject *self, PyObject *args);
PyObject *spans_of(PyObject *self, PyObject *args);
PyObject *calls_in(PyObject *self, PyObject *args);

#endif

/* The loops over every byte of every file: of `words.terms_and_compounds`, `identifiers.masked_identifiers` and `cuts`.
 *
 * Python decides what counts (tables, keywords, letters beyond ASCII) and says the same without this module, only
 * slower; tests hold both against the plain rule. Nothing here trusts its input: every index is checked against the
 * length of the buffer it is for.
 */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1 /* as `native` expects it: an older build in the same place must not be used */

enum { OTHER, LOWER, UPPER, DIGIT, UNDERSCORE, BEYOND };

static unsigned char KIND[256], FOLDED[256];
static uint64_t seed; /* so that nobody can write a file whose names all collide */

static void fill_tables(void) {
    for (int c = 0; c < 256; c++) {
        FOLDED[c] = (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        KIND[c] = c > 127                    ? BEYOND
                  : c >= '0' && c <= '9'     ? DIGIT
                  : c >= 'A' && c <= 'Z'     ? UPPER
                  : c >= 'a' && c <= 'z'     ? LOWER
                  : c == '_'                 ? UNDERSCORE
                                             : OTHER;
    }
}

static uint64_t hash_of(const unsigned char *text, Py_ssize_t size) {
    uint64_t h = seed ^ (uint64_t)size;
    while (size >= 8) {
        uint64_t part;
        memcpy(&part, text, 8);
        h = (h ^ part) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
        text += 8, size -= 8;
    }
    uint64_t rest = 0;
    memcpy(&rest, text, (size_t)size);
    h = (h ^ rest) * 0xBF58476D1CE4E5B9u;
    return h ^ (h >> 32);
}

/* A set of distinct byte strings that lie in buffers of the caller; slot and entry numbers stay valid as it grows. */
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

static int names_grow(Names *names) {
    Py_ssize_t room = names->room ? names->room * 2 : 64;
    Entry *entries = realloc(names->entries, (size_t)room * sizeof(Entry));
    if (!entries) return -1;
    names->entries = entries;
    int32_t *slots = calloc((size_t)room * 2, sizeof(int32_t));
    if (!slots) return -1;
    free(names->slots);
    names->slots = slots;
    names->room = room;
    names->mask = (size_t)room * 2 - 1;
    for (Py_ssize_t at = 0; at < names->count; at++) {
        size_t slot = entries[at].hash & names->mask;
        while (slots[slot]) slot = (slot + 1) & names->mask;
        slots[slot] = (int32_t)(at + 1);
    }
    return 0;
}

/* The number of a name, new or known; -1 without memory. */
static Py_ssize_t names_number(Names *names, const unsigned char *text, Py_ssize_t size) {
    if (names->count == names->room && names_grow(names)) return -1;
    uint64_t hash = hash_of(text, size);
    size_t slot = hash & names->mask;
    for (; names->slots[slot]; slot = (slot + 1) & names->mask) {
        Entry *known = &names->entries[names->slots[slot] - 1];
        if (known->hash == hash && known->size == size && !memcmp(known->text, text, (size_t)size))
            return names->slots[slot] - 1;
    }
    names->entries[names->count] = (Entry){text, size, hash};
    names->slots[slot] = (int32_t)(++names->count);
    return names->count - 1;
}

static void names_clear(Names *names) { /* keeps the memory */
    names->count = 0;
    if (names->slots) memset(names->slots, 0, (names->mask + 1) * sizeof(int32_t));
}

static void names_free(Names *names) {
    free(names->entries);
    free(names->slots);
}

/* Does a sub-word begin at `at`, inside a word? `whole`: its letters are not all ASCII, so case says nothing. */
static int splits(const unsigned char *text, Py_ssize_t at, Py_ssize_t size, int whole) {
    int before = KIND[text[at - 1]], here = KIND[text[at]];
    if ((before == DIGIT) != (here == DIGIT)) return 1;
    if (here != UPPER || whole) return 0;
    return before == LOWER || (before == UPPER && at + 1 < size && KIND[text[at + 1]] == LOWER);
}

static int is_letter(unsigned char byte) {
    return KIND[byte] == LOWER || KIND[byte] == UPPER || KIND[byte] == BEYOND;
}

static int whole_letters(const unsigned char *text, Py_ssize_t at, Py_ssize_t size) {
    for (; at < size && is_letter(text[at]); at++)
        if (KIND[text[at]] == BEYOND) return 1;
    return 0;
}

typedef struct {
    unsigned char *cleaned, *terms, *compounds; /* of the words found, a blank after each */
    Py_ssize_t terms_size, compounds_size, room, most;
    Names names;
} Words;

enum { TOLD, NOT_OURS, FAILED };

/* NOT_OURS: a sub-word that may have to be cut. `plain`: all of it is ASCII, so names can be compared as they are. */
static int split_text(Words *words, const unsigned char *text, Py_ssize_t size, int plain) {
    unsigned char *terms = words->terms, *compounds = words->compounds;
    for (Py_ssize_t at = 0; at < size;) {
        if (KIND[text[at]] == OTHER) {
            at++;
            continue;
        }
        Py_ssize_t part = -1, name = -1; /* where the sub-word began, and what may be an identifier */
        int several = 0, whole = 0;
        unsigned char *end = compounds;
        for (; at < size && KIND[text[at]] != OTHER; at++) {
            int kind = KIND[text[at]];
            if (!plain && is_letter(text[at]) && (part < 0 || !is_letter(text[at - 1])))
                whole = whole_letters(text, at, size);
            if (name < 0 && kind != DIGIT) name = at;
            if (name >= 0) *end++ = FOLDED[text[at]];
            if (kind == UNDERSCORE || (part >= 0 && splits(text, at, size, whole))) {
                several |= kind == UNDERSCORE || (name >= 0 && at > name);
                if (part >= 0) *terms++ = ' ';
                part = -1;
            }
            if (kind == UNDERSCORE) continue;
            if (part < 0) part = at;
            if (at - part == words->most) return NOT_OURS;
            *terms++ = FOLDED[text[at]];
        }
        if (part >= 0) *terms++ = ' ';
        if (!several) continue;
        Py_ssize_t length = end - compounds;
        if (plain) {
            Py_ssize_t known = words->names.count;
            if (length > words->most) length = words->most;
            Py_ssize_t number = names_number(&words->names, compounds, length);
            if (number < 0) return PyErr_NoMemory(), FAILED;
            if (number < known) continue; /* the next one overwrites it */
        }
        compounds += length;
        *compounds++ = ' ';
    }
    words->terms_size = terms - words->terms;
    words->compounds_size = compounds - words->compounds;
    return TOLD;
}

static int make_room(Words *words, Py_ssize_t size) {
    if (size < words->room) return 0;
    unsigned char **all[] = {&words->cleaned, &words->terms, &words->compounds};
    for (int at = 0; at < 3; at++) { /* each byte gives at most itself and a blank */
        unsigned char *grown = realloc(*all[at], (size_t)size * 2 + 2);
        if (!grown) return PyErr_NoMemory(), -1;
        *all[at] = grown;
    }
    words->room = size + 1;
    return 0;
}

/* Beyond ASCII: is it a letter, nothing of a word, or a digit? Python is asked once for each sign. */
enum { UNKNOWN, LETTER, NOTHING, DECIMAL };
static unsigned char signs[0x110000];

static int asked(const char *bytes, int length, const char *question) {
    PyObject *sign = PyUnicode_FromStringAndSize(bytes, length);
    PyObject *answer = sign ? PyObject_CallMethod(sign, question, NULL) : NULL;
    int yes = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    Py_XDECREF(sign);
    return yes;
}

static int sign_of(const unsigned char *bytes, int length) {
    uint32_t point = bytes[0] & (0xFFu >> (length + 1));
    for (int at = 1; at < length; at++) point = point << 6 | (bytes[at] & 0x3Fu);
    if (signs[point] == UNKNOWN) {
        int decimal = asked((const char *)bytes, length, "isdecimal");
        int word = asked((const char *)bytes, length, "isalnum");
        if (decimal < 0 || word < 0) return -1;
        signs[point] = (unsigned char)(decimal ? DECIMAL : word ? LETTER : NOTHING);
    }
    return signs[point];
}

/* Blanks for what belongs to no word; NOT_OURS with digits of other scripts. */
static int clean(Words *words, const unsigned char *text, Py_ssize_t size) {
    memcpy(words->cleaned, text, (size_t)size);
    for (Py_ssize_t at = 0; at < size;) {
        int length = text[at] < 0x80 ? 1 : text[at] < 0xE0 ? 2 : text[at] < 0xF0 ? 3 : 4;
        if (length > size - at) return NOT_OURS;
        if (length > 1) {
            int sign = sign_of(text + at, length);
            if (sign < 0) return FAILED;
            if (sign == DECIMAL) return NOT_OURS;
            if (sign == NOTHING) memset(words->cleaned + at, ' ', (size_t)length);
        }
        at += length;
    }
    return TOLD;
}

static int is_plain(const unsigned char *text, Py_ssize_t size) {
    unsigned char seen = 0;
    for (Py_ssize_t at = 0; at < size; at++) seen |= text[at];
    return seen < 0x80;
}

static PyObject *told(Words *words, PyObject *text, PyObject *finish) {
    Py_ssize_t size;
    const unsigned char *bytes = (const unsigned char *)PyUnicode_AsUTF8AndSize(text, &size);
    if (!bytes) { /* a lone surrogate */
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return NULL;
        PyErr_Clear();
        return Py_NewRef(Py_None);
    }
    if (make_room(words, size)) return NULL;
    names_clear(&words->names);
    int plain = is_plain(bytes, size);
    int done = plain ? TOLD : clean(words, bytes, size);
    if (done == TOLD) done = split_text(words, plain ? bytes : words->cleaned, size, plain);
    if (done == FAILED) return NULL;
    if (done == NOT_OURS) return Py_NewRef(Py_None);
    PyObject *pair = Py_BuildValue("(s#s#)", (char *)words->terms, words->terms_size, (char *)words->compounds,
                                   words->compounds_size);
    if (plain || !pair) return pair;
    PyObject *finished = PyObject_CallObject(finish, pair);
    Py_DECREF(pair);
    return finished;
}

static PyObject *words_of(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *texts, *finish;
    Words words = {0};
    if (!PyArg_ParseTuple(args, "O!nO", &PyList_Type, &texts, &words.most, &finish)) return NULL;
    PyObject *found = PyList_New(0);
    for (Py_ssize_t at = 0; found && at < PyList_Size(texts); at++) {
        PyObject *pair = told(&words, PyList_GetItem(texts, at), finish);
        if (!pair || PyList_Append(found, pair)) Py_CLEAR(found);
        Py_XDECREF(pair);
    }
    free(words.cleaned);
    free(words.terms);
    free(words.compounds);
    names_free(&words.names);
    return found;
}

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
            if ((data[at] & 0xC0) != 0x80) column++;
            if (at == begin) first = column + ((data[at] & 0xC0) == 0x80);
        }
        if (at > begin) {
            if (KIND[painted[begin]] != DIGIT && at - begin <= most &&
                found_add(found, painted + begin, at - begin, line, first))
                return -1;
            continue;
        }
        if (data[at] == '\n')
            line++, column = 0;
        else if ((data[at] & 0xC0) != 0x80)
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

static Py_ssize_t number_of(PyObject *node, PyObject *attribute) {
    PyObject *value = PyObject_GetAttr(node, attribute);
    Py_ssize_t number = value ? PyLong_AsSsize_t(value) : -1;
    Py_XDECREF(value);
    return number;
}

static int stretches(Stretch *out, PyObject *nodes, int hidden, Py_ssize_t size) {
    PyObject *begin = PyUnicode_InternFromString("start_byte"), *end = PyUnicode_InternFromString("end_byte");
    int failed = !begin || !end;
    for (Py_ssize_t at = 0; !failed && at < PyList_Size(nodes); at++) {
        PyObject *node = PyList_GetItem(nodes, at);
        out[at] = (Stretch){number_of(node, begin), number_of(node, end), hidden};
        failed = out[at].begin < 0 || out[at].end < out[at].begin || out[at].end > size;
        if (failed && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a node lies outside the data");
    }
    Py_XDECREF(begin);
    Py_XDECREF(end);
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

static PyObject *names_in(PyObject *self, PyObject *args) {
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

static int is_blank(unsigned char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

/* The line, counted from `offset`, at which cutting hurts least; -1 for none. The first one only tells whether the
 * second stands after a blank line. */
static PyObject *best_line(PyObject *self, PyObject *args) {
    (void)self;
    Py_buffer data;
    Py_ssize_t at, lines, looked_at, after_blank;
    if (!PyArg_ParseTuple(args, "y*nnnn", &data, &at, &lines, &looked_at, &after_blank)) return NULL;
    const unsigned char *text = data.buf;
    Py_ssize_t best = -1, cost = PY_SSIZE_T_MAX;
    int blank_before = 0;
    for (Py_ssize_t line = 0; line < lines && at >= 0 && at <= data.len; line++) {
        const unsigned char *feed = memchr(text + at, '\n', (size_t)(data.len - at));
        Py_ssize_t end = feed ? feed - text : data.len, first = at;
        Py_ssize_t last = end - at > looked_at ? at + looked_at : end;
        while (first < last && is_blank(text[first])) first++;
        Py_ssize_t price = first - at - (blank_before ? after_blank : 0);
        blank_before = first == last;
        if (line && !blank_before && price <= cost) best = line, cost = price; /* of equals the last */
        at = end + 1;
    }
    PyBuffer_Release(&data);
    return PyLong_FromSsize_t(best);
}

static PyMethodDef METHODS[] = {
    {"words", words_of, METH_VARARGS, "words(texts, most, finish) -> [(terms, compounds) or None]"},
    {"names", names_in, METH_VARARGS, "names(data, hidden, shown, keywords, most) -> [(name, positions)]"},
    {"best_line", best_line, METH_VARARGS, "best_line(data, offset, lines, looked_at, after_blank) -> int"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_scan", NULL, -1, METHODS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__scan(void) {
    fill_tables();
    seed = ((uint64_t)(uintptr_t)&seed << 16) ^ (uint64_t)(uintptr_t)malloc ^ 0x2545F4914F6CDD1Du;
    PyObject *module = PyModule_Create(&MODULE);
    if (module && PyModule_AddIntConstant(module, "VERSION", VERSION)) Py_CLEAR(module);
    return module;
}

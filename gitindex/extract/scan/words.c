#include "scan.h"

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

/* The bytes of the first `most` code points. */
static Py_ssize_t beginning(const unsigned char *text, Py_ssize_t size, Py_ssize_t most) {
    Py_ssize_t at = 0;
    if (size <= most) return size;
    while (at < size && (continues(text[at]) || most-- > 0)) at++;
    return at;
}

/* NOT_OURS: a sub-word that may have to be cut. `plain`: all of it is ASCII. `simple`: it is lower case beyond ASCII, so
 * names can be compared as they are. */
static int split_text(Words *words, const unsigned char *text, Py_ssize_t size, int plain, int simple) {
    unsigned char *terms = words->terms, *compounds = words->compounds;
    for (Py_ssize_t at = 0; at < size;) {
        if (KIND[text[at]] == OTHER) {
            at++;
            continue;
        }
        Py_ssize_t part = -1, name = -1; /* where the sub-word began, and what may be an identifier */
        int several = 0, whole = 0;
        for (; at < size && KIND[text[at]] != OTHER; at++) {
            int kind = KIND[text[at]];
            if (!plain && is_letter(text[at]) && (part < 0 || !is_letter(text[at - 1])))
                whole = whole_letters(text, at, size);
            if (name < 0 && kind != DIGIT) name = at;
            if (kind == UNDERSCORE || (part >= 0 && splits(text, at, size, whole))) {
                several |= kind == UNDERSCORE || (name >= 0 && at > name);
                if (part >= 0) *terms++ = ' ';
                part = -1;
            }
            if (kind == UNDERSCORE) continue;
            if (part < 0) part = at;
            if (at - part == words->most) return NOT_OURS;
            *terms++ = FOLDED[text[at]];
            if (kind == DIGIT) continue;
            Py_ssize_t limit = size - part > words->most ? part + words->most : size;
            while (at + 1 < limit && KIND[text[at + 1]] == LOWER) *terms++ = text[++at]; /* no case splits there */
        }
        if (part >= 0) *terms++ = ' ';
        if (!several) continue;
        Py_ssize_t length = simple ? beginning(text + name, at - name, words->most) : at - name;
        for (Py_ssize_t sign = 0; sign < length; sign++) compounds[sign] = FOLDED[text[name + sign]];
        if (simple) {
            Py_ssize_t known = words->names.count;
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

/* Beyond ASCII: is it a letter, nothing of a word, or a digit? Python is asked once for each sign. SPECIAL is a letter
 * whose lower case is longer or shorter, or depends on what stands around it. */
enum { UNKNOWN, LETTER, NOTHING, DECIMAL, SPECIAL };
enum { SIGMA = 0x3A3 };
static unsigned char signs[0x110000];
static unsigned char lowered[0x110000][4]; /* of letters, as UTF-8 */

static int asked(const char *bytes, int length, const char *question) {
    PyObject *sign = PyUnicode_FromStringAndSize(bytes, length);
    PyObject *answer = sign ? PyObject_CallMethod(sign, question, NULL) : NULL;
    int yes = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    Py_XDECREF(sign);
    return yes;
}

/* LETTER and its lower case, or SPECIAL. */
static int letter(uint32_t point, const char *bytes, int length) {
    PyObject *sign = PyUnicode_FromStringAndSize(bytes, length);
    PyObject *lower = sign ? PyObject_CallMethod(sign, "lower", NULL) : NULL;
    Py_ssize_t size = 0;
    const char *text = lower ? PyUnicode_AsUTF8AndSize(lower, &size) : NULL;
    int found = !text ? -1 : point == SIGMA || size != length || PyUnicode_GetLength(lower) != 1 ? SPECIAL : LETTER;
    if (found == LETTER) memcpy(lowered[point], text, (size_t)length);
    Py_XDECREF(lower);
    Py_XDECREF(sign);
    return found;
}

static uint32_t point_of(const unsigned char *bytes, int length) {
    uint32_t point = bytes[0] & (0xFFu >> (length + 1));
    for (int at = 1; at < length; at++) point = point << 6 | (bytes[at] & 0x3Fu);
    return point;
}

static int sign_of(uint32_t point, const unsigned char *bytes, int length) {
    if (signs[point] == UNKNOWN) {
        int decimal = asked((const char *)bytes, length, "isdecimal");
        int word = asked((const char *)bytes, length, "isalnum");
        int found = decimal > 0 ? DECIMAL : word > 0 ? letter(point, (const char *)bytes, length) : NOTHING;
        if (decimal < 0 || word < 0 || found < 0) return -1;
        signs[point] = (unsigned char)found;
    }
    return signs[point];
}

/* Blanks for what belongs to no word, and lower case beyond ASCII; NOT_OURS with digits of other scripts. `simple` says
 * whether that is all there is to do. */
static int clean(Words *words, const unsigned char *text, Py_ssize_t size, int *simple) {
    memcpy(words->cleaned, text, (size_t)size);
    *simple = 1;
    for (Py_ssize_t at = 0; at < size;) {
        int length = text[at] < 0x80 ? 1 : text[at] < 0xE0 ? 2 : text[at] < 0xF0 ? 3 : 4;
        if (length > size - at) return NOT_OURS;
        if (length > 1) {
            uint32_t point = point_of(text + at, length);
            int sign = sign_of(point, text + at, length);
            if (sign < 0) return FAILED;
            if (sign == DECIMAL) return NOT_OURS;
            if (sign == NOTHING) memset(words->cleaned + at, ' ', (size_t)length);
            if (sign == LETTER) memcpy(words->cleaned + at, lowered[point], (size_t)length);
            if (sign == SPECIAL) *simple = 0;
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
    int plain = is_plain(bytes, size), simple = 1;
    int done = plain ? TOLD : clean(words, bytes, size, &simple);
    if (done == TOLD) done = split_text(words, plain ? bytes : words->cleaned, size, plain, simple);
    if (done == FAILED) return NULL;
    if (done == NOT_OURS) return Py_NewRef(Py_None);
    PyObject *pair = Py_BuildValue("(s#s#)", (char *)words->terms, words->terms_size, (char *)words->compounds,
                                   words->compounds_size);
    if (simple || !pair) return pair;
    PyObject *finished = PyObject_CallObject(finish, pair);
    Py_DECREF(pair);
    return finished;
}

PyObject *words_of(PyObject *self, PyObject *args) {
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

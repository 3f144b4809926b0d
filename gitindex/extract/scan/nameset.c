#include "scan.h"

static uint64_t seed; /* so that nobody can write a file whose names all collide */

void seed_names(void) {
    seed = ((uint64_t)(uintptr_t)&seed << 16) ^ (uint64_t)(uintptr_t)malloc ^ 0x2545F4914F6CDD1Du;
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
Py_ssize_t names_number(Names *names, const unsigned char *text, Py_ssize_t size) {
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

void names_clear(Names *names) {
    names->count = 0;
    if (names->slots) memset(names->slots, 0, (names->mask + 1) * sizeof(int32_t));
}

void names_free(Names *names) {
    free(names->entries);
    free(names->slots);
}

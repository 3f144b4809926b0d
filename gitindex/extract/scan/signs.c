#include "scan.h"

unsigned char KIND[256], FOLDED[256];

void fill_tables(void) {
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

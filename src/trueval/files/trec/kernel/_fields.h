/* Fields of visible ASCII characters, found eight characters at a time. */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const char *at;
    size_t length;
} Field;

/* One comparison for two bounds: what is below the lower one becomes large when taken as unsigned. */
static bool is_visible(char character) { return (unsigned char)(character - 0x21) < 0x7F - 0x21; }

static bool is_digit(char character) { return (unsigned char)(character - '0') < 10; }

/* Eight characters at any address; compilers make one instruction of it. */
static uint64_t load(const char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HAS_WORDS true /* eight characters can be looked at together, the first in the lowest byte */
#define LOWEST_BIT(word) ((size_t)__builtin_ctzll(word))
#else
#define HAS_WORDS false
#define LOWEST_BIT(word) ((size_t)(word)) /* never asked for */
#endif

#define EIGHT(byte) (0x0101010101010101u * (byte))
#define FIRST(length) (UINT64_MAX >> (64 - 8 * (length))) /* the bytes of the first 1 to 8 characters */

/* How many of eight characters are visible ASCII before the first that is not; 8 if all are. */
static size_t count_visible(uint64_t word) {
    /* The first bit of each byte tells. Set before 0x21 is taken away, it is lost where the other seven bits are below
     * 0x21, and stops the borrow from the next byte. Added to, it is set where the seven bits are 0x7F. And it is set
     * in whatever is not ASCII. */
    uint64_t below_0x21 = ~((word | EIGHT(0x80)) - EIGHT(0x21));
    uint64_t is_0x7f = (word & EIGHT(0x7F)) + EIGHT(0x01);
    uint64_t invisible = (below_0x21 | is_0x7f | word) & EIGHT(0x80);
    return invisible ? LOWEST_BIT(invisible) / 8 : 8;
}

/* The visible ASCII characters from `at` on. */
static Field field_at(const char *at, const char *end) {
    const char *stop = at;
    while (HAS_WORDS && end - stop >= 8) {
        size_t visible = count_visible(load(stop));
        stop += visible;
        if (visible < 8) return (Field){at, (size_t)(stop - at)};
    }
    while (stop < end && is_visible(*stop)) stop++;
    return (Field){at, (size_t)(stop - at)};
}

/* As field_at, but faster where the field of the line before is here again, as queries and "Q0" are: its end is known
 * before its characters are looked at. */
static Field field_like(Field before, const char *at, const char *end) {
    size_t length = before.length;
    if (length == 0 || (size_t)(end - at) <= length || is_visible(at[length])) return field_at(at, end);
    bool repeats;
    if (HAS_WORDS && length <= 8 && end - at >= 8)
        repeats = ((load(at) ^ load(before.at)) & FIRST(length)) == 0;
    else
        repeats = memcmp(at, before.at, length) == 0;
    return repeats ? (Field){at, length} : field_at(at, end);
}

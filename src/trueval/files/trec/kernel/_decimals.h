/* Decimals as the nearest doubles, half to even, and integers.
 *
 * A decimal is number * 10^power, number an integer of at most 19 digits, so that it fits in 64 bits. Two ways lead to
 * its nearest double, and neither loops over big integers:
 *
 * 1. Where number < 2^53 and |power| <= 22, number and 10^|power| are both doubles without error, and one
 *    multiplication or division, which IEEE 754 rounds correctly, gives the nearest double (Clinger, "How to read
 *    floating point numbers accurately", PLDI 1990). Nearly all scores are such.
 * 2. Else 10^power = 5^power * 2^power, where only 5^power takes work: a table holds its first 128 bits, and the
 *    product with number its first 192 (Lemire, "Number parsing at a gigabyte per second", Software: Practice and
 *    Experience 51, 2021, who keeps 128). Bits that the table cuts off, and digits past the 19th, leave the true value
 *    between two known ones. Rounding never puts a larger number below a smaller one, so if the least and the greatest
 *    possible value round to the same double, the true value does too. If they differ, it lies too near the middle of
 *    two doubles to tell: the kernel declines, and polars reads the text instead. (Lemire treats more than 19 digits
 *    in the same way.) */

#pragma once

#include <float.h>

#include "_fields.h"

/* Of ten; the table of powers of five goes from minus this to this. 64 bits times 10^-64 to 10^64 is never subnormal
 * nor infinite, so rounded() need not look for either. */
#define LARGEST_POWER 64
#define MOST_DIGITS 19   /* that fit in 64 bits */

/* 5^q lies in [T, T + 1) * 2^shift, T = high * 2^64 + low >= 2^127; at T itself where it is exact. */
typedef struct {
    uint64_t high, low;
    int64_t shift, is_exact;
} Power;

typedef struct {
    uint64_t high, middle, low;
} Product;

/* The upper 64 bits of a product of 128, by halves of 32 bits as on paper: not every compiler has integers of 128. */
static uint64_t multiply(uint64_t a, uint64_t b, uint64_t *low) {
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t cross = a1 * b0 + (a0 * b0 >> 32);
    uint64_t other = a0 * b1 + (uint32_t)cross;
    *low = a * b;
    return a1 * b1 + (cross >> 32) + (other >> 32);
}

/* number * (high * 2^64 + low): 192 bits. */
static Product times(uint64_t number, uint64_t high, uint64_t low) {
    Product product;
    uint64_t carried = multiply(number, low, &product.low), middle;
    product.high = multiply(number, high, &middle);
    product.middle = middle + carried;
    product.high += product.middle < middle;
    return product;
}

/* product * 2^exponent as a double, half to even; product >= 2^190, the result neither subnormal nor infinite. */
static uint64_t rounded(Product product, int64_t exponent) {
    uint64_t high = product.high, middle = product.middle;
    bool rest = product.low != 0;
    if (!(high >> 63)) { /* two factors with their first bit set give a product with its first or its second set */
        high = high << 1 | middle >> 63;
        middle = middle << 1 | product.low >> 63;
        rest = product.low << 1 != 0;
        exponent--;
    }
    uint64_t mantissa = high >> 11, cut = high & 0x7FF; /* 53 bits, and 11 of which 0x400 alone is one half */
    rest = rest || middle != 0;
    if (cut > 0x400 || (cut == 0x400 && (rest || mantissa & 1))) mantissa++;
    /* mantissa * 2^(exponent + 139), for 11 bits of high and the 128 of middle and low are gone; 1075 is the bias of
     * exponents and the 52 bits of the fraction. A mantissa of 2^53 carries into the exponent, as it should. */
    return ((uint64_t)(exponent + 139 + 1075) << 52) + (mantissa - ((uint64_t)1 << 52));
}

/* number * 10^power, or, if cut, a number between it and (number + 1) * 10^power; false if it cannot be told which
 * double is nearest. */
static bool scale(uint64_t number, int64_t power, bool cut, const Power *powers, double *value) {
#if FLT_EVAL_METHOD == 0 /* elsewhere (x87) a product is rounded twice, to 64 bits and then to 53 */
    static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (!cut && number >> 53 == 0 && -22 <= power && power <= 22) { /* one rounding of two exact doubles */
        *value = power < 0 ? (double)number / exact[-power] : (double)number * exact[power];
        return true;
    }
#endif
    if (number == 0) {
        *value = 0;
        return true;
    }
    if (power < -LARGEST_POWER || power > LARGEST_POWER || number + cut == 0) return false;
    const Power *five = powers + power + LARGEST_POWER;
    int shift = 0;
    while (!((number + cut) << shift >> 63)) shift++;
    int64_t exponent = five->shift + power - shift;
    /* The first bit of both factors is set, so the product has 191 or 192 bits. */
    uint64_t least = number << shift, most = (number + cut) << shift;
    if (!(least >> 63)) return false; /* number + 1 is a power of two */
    uint64_t bits = rounded(times(least, five->high, five->low), exponent);
    if (cut || !five->is_exact) { /* 5^power is below T + 1, which is no more than 128 bits for any T of the table */
        uint64_t low = five->low + !five->is_exact, high = five->high + (low < five->low);
        if (rounded(times(most, high, low), exponent) != bits) return false;
    }
    memcpy(value, &bits, sizeof bits);
    return true;
}

/* Add what there is from `at` to the end, e[+-]digits, to a power; false for anything else, and from 10,000 on. */
static bool parse_exponent(const char *at, const char *end, int64_t *power) {
    if (*at != 'e' && *at != 'E') return false;
    at++;
    bool is_small = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    if (at == end || end - at > 4) return false;
    int64_t written = 0; /* four digits at most, so no sum of powers overflows */
    for (; at < end && is_digit(*at); at++) written = 10 * written + (*at - '0');
    *power += is_small ? -written : written;
    return at == end;
}

/* -?digits[.digits][e[+-]digits], exactly rounded; false for anything else, and where exact rounding takes more. */
static bool parse_number(Field field, const Power *powers, double *value) {
    const char *at = field.at, *end = at + field.length;
    bool is_negative = at < end && *at == '-', cut = false;
    uint64_t number = 0;
    int64_t power = 0;
    int digits = 0;
    at += is_negative;
    const char *begin = at, *point = NULL;
    for (; at < end; at++) {
        if (*at == '.' && point == NULL && at > begin) {
            point = at;
            continue;
        }
        if (!is_digit(*at)) break;
        if (digits < MOST_DIGITS) {
            number = 10 * number + (uint64_t)(*at - '0');
            digits += number > 0; /* zeros in front are none */
            power -= point != NULL;
        } else { /* digits past the 19th: the number is this or more, and less than one more */
            cut = cut || *at != '0';
            power += point == NULL;
        }
    }
    if (at == begin || at[-1] == '.') return false;
    if (at < end && !parse_exponent(at, end, &power)) return false;
    if (!scale(number, power, cut, powers, value)) return false;
    if (is_negative) *value = -*value;
    return true;
}

static bool parse_rank(Field field, int32_t *rank) {
    const char *at = field.at, *end = at + field.length;
    bool is_negative = at < end && *at == '-';
    int32_t number = 0;
    at += is_negative;
    if (at == end || end - at > 9) return false;
    for (; at < end; at++) {
        if (!is_digit(*at)) return false;
        number = 10 * number + (*at - '0');
    }
    *rank = is_negative ? -number : number;
    return true;
}

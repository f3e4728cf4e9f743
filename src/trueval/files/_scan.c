/* The compiled kernel: one pass over lines of fields, and columns for polars without a copy.
 *
 * What the functions promise stands in _scan.pyi, and how they are used in scan.py. An installation that could not
 * compile this file reads with polars alone (regular_text.py); tests hold the two against each other. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <float.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- memory that grows ------------------------------------------------------------------------------------------ */

typedef struct {
    char *bytes;
    size_t used, room;
} Heap;

/* Make room for some more bytes, less than 2 GiB, and return where they go; NULL if there is no memory. */
static char *extend(Heap *heap, size_t more) {
    if (heap->used + more > heap->room) {
        if (heap->used + more > SIZE_MAX / 4) return NULL;
        size_t room = 2 * (heap->used + more) + 1024;
        char *bytes = realloc(heap->bytes, room);
        if (bytes == NULL) return NULL;
        heap->bytes = bytes;
        heap->room = room;
    }
    heap->used += more;
    return heap->bytes + heap->used - more;
}

/* --- fields ------------------------------------------------------------------------------------------------------ */

typedef struct {
    const char *at;
    size_t length;
} Field;

static bool is_visible(char character) { return (unsigned char)(character - 0x21) < 0x7F - 0x21; }

static bool is_digit(char character) { return (unsigned char)(character - '0') < 10; }

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

/* As field_at, but faster where the field of the line before stands here again. */
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

/* --- numbers ----------------------------------------------------------------------------------------------------- */

#define LARGEST_POWER 64 /* of ten; the table of powers of five goes from minus this to this */
#define MOST_DIGITS 19   /* that fit in 64 bits */

/* 5^q lies in [T, T + 1) * 2^shift, T = high * 2^64 + low >= 2^127; at T itself where it is exact. */
typedef struct {
    uint64_t high, low;
    int64_t shift, is_exact;
} Power;

typedef struct {
    uint64_t high, middle, low;
} Product;

static uint64_t multiply(uint64_t a, uint64_t b, uint64_t *low) {
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t cross = a1 * b0 + (a0 * b0 >> 32);
    uint64_t other = a0 * b1 + (uint32_t)cross;
    *low = a * b;
    return a1 * b1 + (cross >> 32) + (other >> 32);
}

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
    if (!(high >> 63)) {
        high = high << 1 | middle >> 63;
        middle = middle << 1 | product.low >> 63;
        rest = product.low << 1 != 0;
        exponent--;
    }
    uint64_t mantissa = high >> 11, cut = high & 0x7FF;
    rest = rest || middle != 0;
    if (cut > 0x400 || (cut == 0x400 && (rest || mantissa & 1))) mantissa++;
    /* mantissa * 2^(exponent + 139); a mantissa of 2^53 carries into the exponent, as it should. */
    return ((uint64_t)(exponent + 139 + 1075) << 52) + (mantissa - ((uint64_t)1 << 52));
}

/* number * 10^power, or, if cut, a number between it and (number + 1) * 10^power.
 * The least and the largest number that it can be are both rounded; if they differ, nobody knows, and it is false. */
static bool scale(uint64_t number, int64_t power, bool cut, const Power *powers, double *value) {
#if FLT_EVAL_METHOD == 0
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
    uint64_t least = number << shift, most = (number + cut) << shift;
    if (!(least >> 63)) return false; /* number + 1 is a power of two */
    uint64_t bits = rounded(times(least, five->high, five->low), exponent);
    if (cut || !five->is_exact) {
        uint64_t low = five->low + !five->is_exact, high = five->high + (low < five->low);
        if (rounded(times(most, high, low), exponent) != bits) return false;
    }
    memcpy(value, &bits, sizeof bits);
    return true;
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
            digits += number > 0;
            power -= point != NULL;
        } else {
            cut = cut || *at != '0';
            power += point == NULL;
        }
    }
    if (at == begin || at[-1] == '.') return false;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        bool is_small = at < end && *at == '-';
        at += at < end && (*at == '-' || *at == '+');
        int64_t written = 0;
        const char *first = at;
        for (; at < end && is_digit(*at) && at - first < 4; at++) written = 10 * written + (*at - '0');
        if (at == first) return false;
        power += is_small ? -written : written;
    }
    if (at < end || !scale(number, power, cut, powers, value)) return false;
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

/* --- strings in Arrow's view layout ------------------------------------------------------------------------------ */

#define VIEW 16   /* bytes of a view */
#define INSIDE 12 /* bytes of a string that fit in its view */

/* Write the view of a string, after which the part ends at `end`; one that does not fit is appended to the texts. */
static bool write_view(char *view, Field string, const char *end, int32_t part, Heap *texts) {
    uint32_t length = (uint32_t)string.length;
    if (HAS_WORDS && length <= 8 && end - string.at >= 8) {
        uint64_t characters = load(string.at) & FIRST(length);
        uint64_t words[] = {characters << 32 | length, characters >> 32};
        memcpy(view, words, VIEW);
        return true;
    }
    memset(view, 0, VIEW);
    memcpy(view, &length, 4);
    if (length <= INSIDE) {
        memcpy(view + 4, string.at, length);
        return true;
    }
    int32_t offset = (int32_t)texts->used;
    char *text = extend(texts, length);
    if (text == NULL) return false;
    memcpy(text, string.at, length);
    memcpy(view + 4, string.at, 4);
    memcpy(view + 8, &part, 4);
    memcpy(view + 12, &offset, 4);
    return true;
}

/* --- the scan ---------------------------------------------------------------------------------------------------- */

enum { SKIP = '-', QUERY = 'q', DOCUMENT = 'd', NUMBER = 'n', RANK = 'r' };

#define MOST_FIELDS 64

typedef struct {
    const char *end;   /* of the part */
    const char *roles; /* of the fields of a line */
    Py_ssize_t width;  /* fields on a line */
    Py_ssize_t longest;
    char separator;
    int32_t part;
    const Power *powers;
    char *views; /* these three have room for so many rows */
    double *numbers;
    int32_t *ranks;
    Py_ssize_t room;
    Heap starts, queries, texts; /* of stretches of rows with one query: first rows and views; and all long strings */
} Scan;

typedef enum { DONE, IRREGULAR, NO_MEMORY } Outcome;

static bool equal(Field one, Field other) {
    return one.length == other.length && (one.at == other.at || memcmp(one.at, other.at, one.length) == 0);
}

static Outcome keep_query(Scan *scan, Field query, Py_ssize_t row) {
    char *start = extend(&scan->starts, sizeof(int64_t)), *view = extend(&scan->queries, VIEW);
    int64_t first = row;
    if (start == NULL || view == NULL) return NO_MEMORY;
    memcpy(start, &first, sizeof first);
    return write_view(view, query, scan->end, scan->part, &scan->texts) ? DONE : NO_MEMORY;
}

static Outcome keep_field(Scan *scan, char role, Field field, Field before, Py_ssize_t row) {
    switch (role) {
        case QUERY:
            return row > 0 && equal(field, before) ? DONE : keep_query(scan, field, row);
        case DOCUMENT:
            return write_view(scan->views + VIEW * row, field, scan->end, scan->part, &scan->texts) ? DONE : NO_MEMORY;
        case NUMBER:
            return parse_number(field, scan->powers, scan->numbers + row) ? DONE : IRREGULAR;
        case RANK:
            return parse_rank(field, scan->ranks + row) ? DONE : IRREGULAR;
        default:
            return DONE;
    }
}

static Outcome scan_lines(Scan *scan, const char *at, const char *end, Py_ssize_t *rows) {
    Field before[MOST_FIELDS] = {{NULL, 0}};
    Py_ssize_t row = 0;
    if (end - at > INT32_MAX) return IRREGULAR; /* a view holds no larger offset */
    scan->end = end;
    for (; at < end; row++) {
        const char *line = at;
        if (row == scan->room || *at == '#') return IRREGULAR;
        for (Py_ssize_t place = 0; place < scan->width; place++) {
            char role = scan->roles[place];
            bool repeats = role == QUERY || role == SKIP; /* as a rule */
            Field field = repeats ? field_like(before[place], at, end) : field_at(at, end);
            Outcome outcome = field.length == 0 ? IRREGULAR : keep_field(scan, role, field, before[place], row);
            if (outcome != DONE) return outcome;
            before[place] = field;
            at = field.at + field.length;
            if (place + 1 == scan->width) break;
            if (at == end || *at != scan->separator) return IRREGULAR;
            at++;
        }
        if (end - at >= 2 && *at == '\r') at++;
        if (at - line > scan->longest) return IRREGULAR;
        if (at < end && *at++ != '\n') return IRREGULAR;
    }
    *rows = row;
    return DONE;
}

/* Tell whether a buffer has so many values of a size, in a place where the processor can read and write them. */
static bool holds(const Py_buffer *buffer, Py_ssize_t count, Py_ssize_t size, size_t alignment) {
    return buffer->len / size >= count && (count == 0 || (uintptr_t)buffer->buf % alignment == 0);
}

/* Say what is wrong with the arguments of scan(), which would make it write where it must not; NULL if nothing is. */
static const char *wrong(const Scan *scan, const Py_buffer *powers, const Py_buffer *views, const Py_buffer *numbers,
                         const Py_buffer *ranks) {
    if (scan->width < 1 || scan->width > MOST_FIELDS) return "there must be a role for each of 1 to 64 fields";
    if (!holds(powers, 2 * LARGEST_POWER + 1, sizeof(Power), sizeof(uint64_t)))
        return "powers must be the table of powers";
    if (!holds(numbers, scan->room, sizeof(double), sizeof(double))) return "numbers must be aligned";
    if (!holds(views, scan->room, VIEW, 1)) return "views must have as many rows as numbers";
    if (memchr(scan->roles, RANK, (size_t)scan->width) && !holds(ranks, scan->room, sizeof(int32_t), sizeof(int32_t)))
        return "ranks must be aligned and have as many rows as numbers";
    return NULL;
}

static PyObject *found(const Scan *scan, Py_ssize_t rows) {
    const Heap *starts = &scan->starts, *queries = &scan->queries, *texts = &scan->texts;
    return Py_BuildValue("nNNN", rows, PyBytes_FromStringAndSize(starts->bytes, (Py_ssize_t)starts->used),
                         PyBytes_FromStringAndSize(queries->bytes, (Py_ssize_t)queries->used),
                         PyBytes_FromStringAndSize(texts->bytes, (Py_ssize_t)texts->used));
}

static PyObject *scan_part(PyObject *module, PyObject *args) {
    Py_buffer text, powers, views, numbers, ranks;
    Scan scan = {0};
    int separator, part;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*s#iiny*w*w*w*:scan", &text, &scan.roles, &scan.width, &separator, &part,
                          &scan.longest, &powers, &views, &numbers, &ranks))
        return NULL;
    scan.separator = (char)separator;
    scan.part = part;
    scan.powers = powers.buf;
    scan.views = views.buf;
    scan.numbers = numbers.buf;
    scan.ranks = ranks.buf;
    scan.room = numbers.len / (Py_ssize_t)sizeof(double);
    PyObject *result = NULL;
    const char *fault = wrong(&scan, &powers, &views, &numbers, &ranks);
    if (fault == NULL) {
        Py_ssize_t rows = 0;
        Outcome outcome;
        Py_BEGIN_ALLOW_THREADS
        outcome = scan_lines(&scan, text.buf, (const char *)text.buf + text.len, &rows);
        Py_END_ALLOW_THREADS
        if (outcome == NO_MEMORY)
            PyErr_NoMemory();
        else
            result = outcome == DONE ? found(&scan, rows) : Py_NewRef(Py_None);
    } else
        PyErr_SetString(PyExc_ValueError, fault);
    free(scan.starts.bytes);
    free(scan.queries.bytes);
    free(scan.texts.bytes);
    PyBuffer_Release(&text);
    PyBuffer_Release(&powers);
    PyBuffer_Release(&views);
    PyBuffer_Release(&numbers);
    PyBuffer_Release(&ranks);
    return result;
}

static PyObject *count_lines(PyObject *module, PyObject *object) {
    Py_buffer text;
    Py_ssize_t lines = 0;
    (void)module;
    if (PyObject_GetBuffer(object, &text, PyBUF_SIMPLE) < 0) return NULL;
    Py_BEGIN_ALLOW_THREADS
    const char *at = text.buf, *end = at + text.len;
    while (at < end) {
        const char *stop = end - at > UINT8_MAX ? at + UINT8_MAX : end;
        uint8_t newlines = 0; /* of one byte, so that a compiler can count many at once */
        for (; at < stop; at++) newlines += *at == '\n';
        lines += newlines;
    }
    lines += text.len > 0 && end[-1] != '\n';
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&text);
    return PyLong_FromSsize_t(lines);
}

/* --- columns for polars: Arrow's C data interface ---------------------------------------------------------------- */

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

/* The memory of Python's that a column stands in: its values, and for views the long strings of all parts. */
typedef struct {
    Py_ssize_t count;
    Py_buffer *held;      /* [count] */
    const void **buffers; /* no validity, the values, and for views the strings and their sizes */
    int64_t *sizes;
} Owner;

static void let_go(Owner *owner) {
    if (owner->count > 0 && Py_IsInitialized()) { /* polars may let go in a thread of its own */
        PyGILState_STATE state = PyGILState_Ensure();
        for (Py_ssize_t place = 0; place < owner->count; place++) PyBuffer_Release(&owner->held[place]);
        PyGILState_Release(state);
    }
    free(owner->held);
    free((void *)owner->buffers);
    free(owner->sizes);
    free(owner);
}

static bool hold(Owner *owner, PyObject *object) {
    Py_XINCREF(object); /* its list may let go of it while it is asked */
    bool is_given = object != NULL && PyObject_GetBuffer(object, &owner->held[owner->count], PyBUF_SIMPLE) == 0;
    Py_XDECREF(object);
    if (!is_given) return false;
    owner->buffers[owner->count + 1] = owner->held[owner->count].buf;
    if (owner->count > 0) owner->sizes[owner->count - 1] = owner->held[owner->count].len;
    owner->count++;
    return true;
}

static Owner *own(PyObject *values, PyObject *texts) {
    Py_ssize_t count = PyList_Size(texts);
    Owner *owner = count < 0 ? NULL : calloc(1, sizeof *owner);
    if (owner == NULL) return PyErr_Occurred() ? NULL : (Owner *)PyErr_NoMemory();
    owner->held = calloc((size_t)count + 1, sizeof *owner->held);
    owner->buffers = calloc((size_t)count + 3, sizeof *owner->buffers);
    owner->sizes = calloc((size_t)count + 1, sizeof *owner->sizes);
    bool fine = owner->held != NULL && owner->buffers != NULL && owner->sizes != NULL;
    if (!fine) PyErr_NoMemory();
    fine = fine && hold(owner, values);
    for (Py_ssize_t place = 0; fine && place < count; place++) fine = hold(owner, PyList_GetItem(texts, place));
    if (!fine) {
        let_go(owner);
        return NULL;
    }
    owner->buffers[count + 2] = owner->sizes;
    return owner;
}

static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }

static void release_array(struct ArrowArray *array) {
    let_go(array->private_data);
    array->release = NULL;
}

static void destroy_schema(PyObject *capsule) {
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema->release != NULL) schema->release(schema);
    free(schema);
}

static void destroy_array(PyObject *capsule) {
    struct ArrowArray *array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (array->release != NULL) array->release(array);
    free(array);
}

static PyObject *new_schema(const char *format) {
    struct ArrowSchema *schema = calloc(1, sizeof *schema);
    if (schema == NULL) return PyErr_NoMemory();
    *schema = (struct ArrowSchema){.format = format, .name = "", .release = release_schema};
    PyObject *capsule = PyCapsule_New(schema, "arrow_schema", destroy_schema);
    if (capsule == NULL) free(schema);
    return capsule;
}

static PyObject *new_array(Owner *owner, int64_t length, int64_t buffers) {
    struct ArrowArray *array = calloc(1, sizeof *array);
    if (array == NULL) {
        let_go(owner);
        return PyErr_NoMemory();
    }
    *array = (struct ArrowArray){.length = length,
                                 .n_buffers = buffers,
                                 .buffers = owner->buffers,
                                 .release = release_array,
                                 .private_data = owner};
    PyObject *capsule = PyCapsule_New(array, "arrow_array", destroy_array);
    if (capsule == NULL) {
        release_array(array);
        free(array);
    }
    return capsule;
}

static PyObject *export_column(PyObject *module, PyObject *args) {
    int kind;
    PyObject *values, *texts;
    (void)module;
    if (!PyArg_ParseTuple(args, "COO!:export", &kind, &values, &PyList_Type, &texts)) return NULL;
    const char *format = kind == 'u' ? "vu" : kind == 'g' ? "g" : kind == 'i' ? "i" : NULL;
    int64_t bytes = kind == 'u' ? VIEW : kind == 'g' ? (int64_t)sizeof(double) : (int64_t)sizeof(int32_t);
    if (format == NULL) return PyErr_Format(PyExc_ValueError, "a column is of strings (u), doubles (g) or int32 (i)");
    PyObject *schema = new_schema(format), *array = NULL;
    Owner *owner = schema == NULL ? NULL : own(values, texts);
    if (owner != NULL) array = new_array(owner, owner->held[0].len / bytes, kind == 'u' ? owner->count + 2 : 2);
    if (array == NULL) {
        Py_XDECREF(schema);
        return NULL;
    }
    return Py_BuildValue("NN", schema, array);
}

static PyMethodDef methods[] = {
    {"count_lines", count_lines, METH_O, "Count the lines of a text; the last may lack its end."},
    {"scan", scan_part, METH_VARARGS, "Write the columns of a part of a text, if it is regular."},
    {"export", export_column, METH_VARARGS, "Give memory to whoever reads Arrow, without a copy."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "trueval.files._scan",
    .m_doc = "The compiled kernel.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__scan(void) { return PyModuleDef_Init(&definition); }

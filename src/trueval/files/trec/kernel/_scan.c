/* The compiled kernel: one pass over lines of fields (_fields.h, _decimals.h), and columns for polars (_columns.h).
 *
 * What the functions promise is in _scan.pyi, and how they are used in scan.py. An installation that could not compile
 * this file reads with polars alone (regular.py); tests hold the two against each other. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "_columns.h"
#include "_decimals.h"

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

/* --- strings in Arrow's view layout ------------------------------------------------------------------------------ */

#define INSIDE 12 /* bytes of a string that fit in its view */

/* Write the view of a string, after which the part ends at `end`; one that does not fit is appended to the texts. */
static bool write_view(char *view, Field string, const char *end, int32_t part, Heap *texts) {
    uint32_t length = (uint32_t)string.length;
    if (HAS_WORDS && length <= 8 && end - string.at >= 8) { /* two words instead of three copies: most ids are short */
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
    if (end - at > INT32_MAX) return IRREGULAR; /* a view does not hold a larger offset */
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

/* Scan while other threads run. */
static PyObject *run(Scan *scan, const Py_buffer *text) {
    Py_ssize_t rows = 0;
    Outcome outcome;
    PyObject *result = NULL;
    Py_BEGIN_ALLOW_THREADS
    outcome = scan_lines(scan, text->buf, (const char *)text->buf + text->len, &rows);
    Py_END_ALLOW_THREADS
    if (outcome == NO_MEMORY)
        PyErr_NoMemory();
    else
        result = outcome == DONE ? found(scan, rows) : Py_NewRef(Py_None);
    free(scan->starts.bytes);
    free(scan->queries.bytes);
    free(scan->texts.bytes);
    return result;
}

static PyObject *scan_part(PyObject *module, PyObject *args) {
    Py_buffer text, powers, views, numbers, ranks;
    Scan scan = {0};
    int separator, part;
    PyObject *result = NULL;
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
    const char *fault = wrong(&scan, &powers, &views, &numbers, &ranks);
    if (fault == NULL)
        result = run(&scan, &text);
    else
        PyErr_SetString(PyExc_ValueError, fault);
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

static PyMethodDef methods[] = {
    {"count_lines", count_lines, METH_O, "Count the lines of a text; the last may lack its end."},
    {"scan", scan_part, METH_VARARGS, "Write the columns of a part of a text, if it is regular."},
    {"export", export_column, METH_VARARGS, "Give memory to whoever reads Arrow, without a copy."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "trueval.files.trec.kernel._scan",
    .m_doc = "The compiled kernel.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__scan(void) { return PyModuleDef_Init(&definition); }

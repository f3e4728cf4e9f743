/* The compiled counts: how many scores of each row are at least its lower bounds, and above its upper ones.
 *
 * What the function promises is in _passing.pyi, and how it is used in passing.py. An installation that could not
 * compile this file counts with NumPy alone (standings/corpus/tile_counts.py); tests hold the two against each other. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SCORES 32  /* of a block, which are compared together */
#define CHUNK 512  /* scores of a chunk, which a level-1 cache holds while all bounds pass over it */
#define RARE 8     /* scores of a chunk: up to so many its blocks are compared one by one, most with one bound alone */
#define FEW 64     /* bounds that all scores are compared with; of more, those that each score passes are searched */

/* Rows are counted by code for wide vectors where the processor has them, which the loader finds out. What they call is
 * compiled into them: a function of its own would be one for narrow vectors. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define CLONED __attribute__((target_clones("avx2", "default")))
#define WITHIN static inline __attribute__((always_inline))
#else
#define CLONED
#define WITHIN static inline
#endif

typedef struct {
    const void *scores, *low, *high;
    int64_t *at_least, *above;
    Py_ssize_t columns, bounds;
} Row;

#define REAL float
#define COUNT int32_t
#define NAMED(name) name##_float
#include "_row.h"
#undef REAL
#undef COUNT
#undef NAMED

#define REAL double
#define COUNT int64_t
#define NAMED(name) name##_double
#include "_row.h"

enum { ALL, LOW, HIGH, AT_LEAST, ABOVE, ARGUMENTS };

/* Whether a buffer has two axes and values of a format, aligned, with those of a row one after another. */
static bool is_matrix(const Py_buffer *buffer, const char *formats) {
    Py_ssize_t size = buffer->itemsize;
    return buffer->ndim == 2 && buffer->format != NULL && strlen(buffer->format) == 1 &&
           strchr(formats, buffer->format[0]) != NULL && buffer->len > 0 && (uintptr_t)buffer->buf % (size_t)size == 0 &&
           buffer->strides[0] % size == 0 && (buffer->shape[1] == 1 || buffer->strides[1] == size);
}

/* Whether a buffer has the shape of the lower bounds, and no space between its rows. */
static bool is_like_low(const Py_buffer *buffer, const Py_buffer *low) {
    return buffer->shape[0] == low->shape[0] && buffer->shape[1] == low->shape[1] &&
           (buffer->shape[0] == 1 || buffer->strides[0] == buffer->shape[1] * buffer->itemsize);
}

/* Say what is wrong with the arguments, which would make the count read or write where it must not; NULL if nothing. */
static const char *wrong(const Py_buffer *given) {
    for (int i = ALL; i <= HIGH; i++) {
        if (!is_matrix(given + i, "fd")) return "scores and bounds must be matrices of float32 or float64";
        if (given[i].format[0] != given[ALL].format[0]) return "bounds must be in the format of the scores";
    }
    for (int i = AT_LEAST; i <= ABOVE; i++)
        if (!is_matrix(given + i, "lq") || given[i].itemsize != sizeof(int64_t)) return "counts must be of int64";
    if (given[LOW].shape[0] != given[ALL].shape[0]) return "there must be bounds for each row of scores";
    for (int i = LOW; i <= ABOVE; i++)
        if (!is_like_low(given + i, given + LOW)) return "bounds and counts must have one shape";
    return NULL;
}

/* Count all rows, while other threads run. */
static void count_rows(const Py_buffer *given) {
    const Py_buffer *all = given + ALL;
    Py_ssize_t bounds = given[LOW].shape[1];
    size_t values = (size_t)(bounds * all->itemsize), counts = (size_t)bounds * sizeof(int64_t);
    bool is_float = all->format[0] == 'f';
    Py_BEGIN_ALLOW_THREADS
    memset(given[AT_LEAST].buf, 0, (size_t)given[AT_LEAST].len);
    memset(given[ABOVE].buf, 0, (size_t)given[ABOVE].len);
    for (Py_ssize_t i = 0; i < all->shape[0]; i++) {
        Row row = {.scores = (const char *)all->buf + i * all->strides[0],
                   .low = (const char *)given[LOW].buf + (size_t)i * values,
                   .high = (const char *)given[HIGH].buf + (size_t)i * values,
                   .at_least = (int64_t *)((char *)given[AT_LEAST].buf + (size_t)i * counts),
                   .above = (int64_t *)((char *)given[ABOVE].buf + (size_t)i * counts),
                   .columns = all->shape[1],
                   .bounds = bounds};
        (is_float ? count_row_float : count_row_double)(&row);
    }
    Py_END_ALLOW_THREADS
}

static PyObject *count_passing(PyObject *module, PyObject *args) {
    PyObject *objects[ARGUMENTS];
    Py_buffer given[ARGUMENTS];
    int held = 0;
    const char *fault = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOO:count", objects, objects + 1, objects + 2, objects + 3, objects + 4)) return NULL;
    for (; held < ARGUMENTS; held++) {
        int flags = PyBUF_FORMAT | PyBUF_STRIDES | (held >= AT_LEAST ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(objects[held], given + held, flags) < 0) break;
    }
    if (held == ARGUMENTS) {
        fault = wrong(given);
        if (fault == NULL)
            count_rows(given);
        else
            PyErr_SetString(PyExc_ValueError, fault);
    }
    bool done = held == ARGUMENTS && fault == NULL;
    while (held > 0) PyBuffer_Release(given + --held);
    return done ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef methods[] = {
    {"count", count_passing, METH_VARARGS, "Count the scores of each row that pass its bounds."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "trueval.standings.kernel._passing",
    .m_doc = "The compiled counts.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__passing(void) { return PyModuleDef_Init(&definition); }

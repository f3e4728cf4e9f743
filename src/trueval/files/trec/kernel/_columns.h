/* Columns for polars without a copy: Arrow's C data interface.
 *
 * A column of strings is one of views (format "vu", Arrow 1.4): 16 bytes for each string, its length in the first
 * four. Up to 12 bytes the string itself follows, padded with zeros. A longer one has its first four bytes there, so
 * that most comparisons end in the view, then which buffer holds it all (here: which part of the text) and where.
 * Offsets are int32, so no buffer may hold 2 GiB. A column has the buffers: validity (NULL, as nothing is missing),
 * values, and for views those of the long strings, and last the sizes of these.
 * Source: https://arrow.apache.org/docs/format */

#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define VIEW 16 /* bytes of the view of a string */

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

/* The memory of Python's that holds a column: its values, and for views the long strings of all parts. */
typedef struct {
    Py_ssize_t count;
    Py_buffer *held;      /* [count] */
    const void **buffers; /* as above; [0] stays NULL */
    int64_t *sizes;
} Owner;

/* Polars may let go in a thread of its own. When Python ends no such thread is at work, as every call waits for
 * polars; what is let go after that end is the system's to take back. */
static void let_go(Owner *owner) {
    if (owner->count > 0 && Py_IsInitialized()) {
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

/* Whoever takes a capsule's content sets its release to NULL; one that nobody took is released with the capsule. */
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

/* Calls compiled functions from Python at the cost of C: rbdhw.engines.binding describes the interface.
 *
 * A call answers tasks whose arrays need neither conversion nor an explanation. For all others it returns
 * None, and Python does both.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stddef.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

enum { MOST_ARRAYS = 32, MOST_AXES = 6, MOST_UNITS = 64 };

typedef void function(size_t tasks, void *const *arrays);

typedef struct {
    int axes;                    /* -1: the array is not passed */
    npy_intp shape[MOST_AXES];   /* behind the axis of tasks */
    npy_intp size;
    int chooses;                 /* whether each number is zero or one */
} array;

typedef struct {
    int input, start, length;    /* numbers of an input whose norm is one */
} unit;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    function *call;
    PyTypeObject *result;
    int type, inputs, outputs, units, has_status;
    Py_ssize_t most_tasks;
    double slack;
    PyObject *limits;            /* of each input: the lowest and the highest of its numbers, doubles */
    array arrays[MOST_ARRAYS];   /* inputs, then outputs */
    unit unit[MOST_UNITS];
} binding;

/* Returns whether the numbers of tasks, of either type, are finite and within the limits of an input. */
static int within(const binding *self, PyArrayObject *numbers, int input)
{
    const double *limit = (const double *)PyBytes_AS_STRING(PyTuple_GET_ITEM(self->limits, input));
    npy_intp size = self->arrays[input].size, count = PyArray_SIZE(numbers);
    if (PyArray_TYPE(numbers) == NPY_DOUBLE) {
        const double *number = PyArray_DATA(numbers);
        for (npy_intp k = 0, place = 0; k < count; k++, place = place + 1 == size ? 0 : place + 1)
            if (!(number[k] >= limit[2 * place] && number[k] <= limit[2 * place + 1] && isfinite(number[k]))) return 0;
    } else {
        const float *number = PyArray_DATA(numbers);
        for (npy_intp k = 0, place = 0; k < count; k++, place = place + 1 == size ? 0 : place + 1)
            if (!(number[k] >= limit[2 * place] && number[k] <= limit[2 * place + 1] && isfinite(number[k]))) return 0;
    }
    return 1;
}

/* Returns the number of tasks of an array: -1 for one task without an axis, -2 if the shape is another. */
static npy_intp tasks_of(PyArrayObject *given, const array *expected)
{
    int axes = PyArray_NDIM(given), extra = axes - expected->axes;
    if (extra != 0 && extra != 1) return -2;
    for (int k = 0; k < expected->axes; k++)
        if (PyArray_DIM(given, k + extra) != expected->shape[k]) return -2;
    return extra ? PyArray_DIM(given, 0) : -1;
}

static double number_at(PyArrayObject *numbers, npy_intp place)
{
    const void *data = PyArray_DATA(numbers);
    return PyArray_TYPE(numbers) == NPY_DOUBLE ? ((const double *)data)[place] : ((const float *)data)[place];
}

static int has_unit_length(const binding *self, const unit *part, PyArrayObject *numbers, npy_intp tasks)
{
    for (npy_intp task = 0; task < tasks; task++) {
        npy_intp first = task * self->arrays[part->input].size + part->start;
        double square = 0.0;
        for (npy_intp k = first; k < first + part->length; k++)
            square += number_at(numbers, k) * number_at(numbers, k);
        if (!(fabs(sqrt(square) - 1.0) <= self->slack)) return 0;
    }
    return 1;
}

static int only_chooses(PyArrayObject *numbers)
{
    for (npy_intp k = 0, count = PyArray_SIZE(numbers); k < count; k++)
        if (number_at(numbers, k) != 0.0 && number_at(numbers, k) != 1.0) return 0;
    return 1;
}

/* Returns whether an array of Python can be read as it is, or converted number by number. */
static int readable(const binding *self, PyObject *given)
{
    if (!PyArray_CheckExact(given) || !PyArray_ISCARRAY_RO((PyArrayObject *)given)) return 0;
    int type = PyArray_TYPE((PyArrayObject *)given);
    return type == self->type || type == NPY_DOUBLE;
}

/* Finds the arrays of all inputs, NULL for one that is not passed. Returns the number of tasks as `tasks_of`; -2
 * if Python is to look. */
static npy_intp read_inputs(const binding *self, PyObject *const *given, Py_ssize_t count, PyArrayObject **found)
{
    npy_intp tasks = -2;
    Py_ssize_t next = 0;
    for (int k = 0; k < self->inputs; k++) {
        found[k] = NULL;
        if (self->arrays[k].axes < 0) continue;
        if (next == count || !readable(self, given[next])) return -2;
        PyArrayObject *numbers = (PyArrayObject *)given[next++];
        npy_intp own = tasks_of(numbers, &self->arrays[k]);
        if (own == -2 || own == 0 || own > self->most_tasks || (next > 1 && own != tasks)) return -2;
        if (!within(self, numbers, k) || (self->arrays[k].chooses && !only_chooses(numbers))) return -2;
        tasks = own;
        found[k] = numbers;
    }
    if (next != count) return -2;
    for (int k = 0; k < self->units; k++)
        if (!has_unit_length(self, &self->unit[k], found[self->unit[k].input], tasks < 0 ? 1 : tasks)) return -2;
    return tasks;
}

/* Returns the address of an input's numbers in the type of the library; converted ones are at `scratch`. */
static void *address_of(const binding *self, PyArrayObject *numbers, float **scratch)
{
    if (numbers == NULL || PyArray_TYPE(numbers) == self->type) return numbers ? PyArray_DATA(numbers) : NULL;
    float *converted = *scratch;
    npy_intp count = PyArray_SIZE(numbers);
    const double *number = PyArray_DATA(numbers);
    for (npy_intp k = 0; k < count; k++) converted[k] = (float)number[k];
    *scratch += count;
    return converted;
}

/* Returns memory for converted numbers, NULL if there is none to convert or no memory. */
static float *new_scratch(const binding *self, PyArrayObject **found, int *failed)
{
    size_t numbers = 0;
    for (int k = 0; k < self->inputs; k++)
        if (found[k] && PyArray_TYPE(found[k]) != self->type) numbers += PyArray_SIZE(found[k]);
    float *scratch = numbers ? PyMem_Malloc(numbers * sizeof(float)) : NULL;
    *failed = numbers && scratch == NULL;
    return scratch;
}

/* Returns a new array of results for tasks. */
static PyObject *new_array(const array *shape, npy_intp tasks, int type)
{
    npy_intp dimensions[MOST_AXES + 1];
    int extra = tasks >= 0;
    dimensions[0] = tasks;
    for (int k = 0; k < shape->axes; k++) dimensions[k + extra] = shape->shape[k];
    return PyArray_SimpleNew(shape->axes + extra, dimensions, type);
}

static PyObject *status_of(PyArrayObject *flags, npy_intp tasks)
{
    if (tasks < 0) return PyLong_FromLong(*(const npy_uint8 *)PyArray_DATA(flags));
    return PyArray_Cast(flags, NPY_INT64);
}

/* Fills a tuple with new arrays of results and their addresses. Returns whether that succeeded. */
static int new_results(const binding *self, PyObject *results, npy_intp tasks, void **addresses)
{
    for (int k = 0; k < self->outputs; k++) {
        const array *shape = &self->arrays[self->inputs + k];
        PyObject *numbers = new_array(shape, tasks, self->type);
        if (numbers == NULL) return 0;
        addresses[k] = PyArray_DATA((PyArrayObject *)numbers);
        PyTuple_SET_ITEM(results, k, numbers);
    }
    return 1;
}

/* Computes tasks, and returns the named results with the status. */
static PyObject *compute(const binding *self, PyArrayObject **found, npy_intp tasks, float *scratch)
{
    static const array one_number = {0};
    void *addresses[MOST_ARRAYS + 1];
    PyObject *answer = NULL, *results = PyTuple_New(self->outputs + 1);
    PyObject *flags = new_array(&one_number, tasks < 0 ? 1 : tasks, NPY_UINT8);
    if (results == NULL || flags == NULL || !new_results(self, results, tasks, addresses + self->inputs)) goto end;
    for (int k = 0; k < self->inputs; k++) addresses[k] = address_of(self, found[k], &scratch);
    addresses[self->inputs + self->outputs] = PyArray_DATA((PyArrayObject *)flags);
    if (!self->has_status) PyArray_FILLWBYTE((PyArrayObject *)flags, 0);
    Py_BEGIN_ALLOW_THREADS
    self->call(tasks < 0 ? 1 : (size_t)tasks, addresses);
    Py_END_ALLOW_THREADS
    PyObject *status = status_of((PyArrayObject *)flags, tasks);
    if (status == NULL) goto end;
    PyTuple_SET_ITEM(results, self->outputs, status);
    PyObject *arguments = PyTuple_Pack(1, results);
    if (arguments == NULL) goto end;
    answer = PyTuple_Type.tp_new(self->result, arguments, NULL);
    Py_DECREF(arguments);
end:
    Py_XDECREF(flags);
    Py_XDECREF(results);
    return answer;
}

static PyObject *binding_call(PyObject *object, PyObject *const *given, size_t flags, PyObject *names)
{
    const binding *self = (binding *)object;
    PyArrayObject *found[MOST_ARRAYS];
    npy_intp tasks = names != NULL ? -2 : read_inputs(self, given, PyVectorcall_NARGS(flags), found);
    if (tasks == -2) Py_RETURN_NONE;
    int failed;
    float *scratch = new_scratch(self, found, &failed);
    PyObject *answer = failed ? PyErr_NoMemory() : compute(self, found, tasks, scratch);
    PyMem_Free(scratch);
    return answer;
}

/* Reads the shapes of arrays; None stands for one that is not passed. Returns their number, or -1. */
static int read_shapes(PyObject *shapes, array *into, int most)
{
    int count = (int)PyTuple_GET_SIZE(shapes);
    if (count > most) return -1;
    for (int k = 0; k < count; k++) {
        PyObject *shape = PyTuple_GET_ITEM(shapes, k);
        into[k].axes = -1;
        into[k].size = 1;
        into[k].chooses = 0;
        if (shape == Py_None) continue;
        into[k].axes = (int)PyTuple_GET_SIZE(shape);
        if (into[k].axes > MOST_AXES) return -1;
        for (int axis = 0; axis < into[k].axes; axis++) {
            into[k].shape[axis] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis));
            into[k].size *= into[k].shape[axis];
        }
    }
    return count;
}

static PyObject *binding_new(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    static char *known[] = {"address",    "inputs", "outputs", "result", "single",  "has_status",
                            "most_tasks", "units",  "slack",   "limits", "choices", NULL};
    unsigned long long address;
    PyObject *inputs, *outputs, *result, *units, *limits, *choices;
    int single, has_status;
    Py_ssize_t most_tasks;
    double slack;
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "KO!O!O!ppnO!dO!O!", known, &address, &PyTuple_Type, &inputs,
                                     &PyTuple_Type, &outputs, &PyType_Type, &result, &single, &has_status, &most_tasks,
                                     &PyTuple_Type, &units, &slack, &PyTuple_Type, &limits, &PyTuple_Type,
                                     &choices))
        return NULL;
    binding *self = (binding *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->vectorcall = binding_call;
    self->call = (function *)(uintptr_t)address;
    self->result = (PyTypeObject *)Py_NewRef(result);
    self->type = single ? NPY_FLOAT : NPY_DOUBLE;
    self->has_status = has_status;
    self->most_tasks = most_tasks;
    self->slack = slack;
    self->limits = Py_NewRef(limits);
    self->inputs = read_shapes(inputs, self->arrays, MOST_ARRAYS);
    self->outputs = self->inputs < 0 ? -1 : read_shapes(outputs, self->arrays + self->inputs, MOST_ARRAYS - self->inputs);
    self->units = (int)PyTuple_GET_SIZE(units);
    if (self->outputs < 0 || self->units > MOST_UNITS) {
        Py_DECREF(self);
        PyErr_SetString(PyExc_ValueError, "too many arrays, axes or units");
        return NULL;
    }
    for (int k = 0; k < PyTuple_GET_SIZE(choices) && k < self->inputs; k++)
        self->arrays[k].chooses = PyTuple_GET_ITEM(choices, k) == Py_True;
    for (int k = 0; k < self->units; k++) {
        unit *part = &self->unit[k];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(units, k), "iii", &part->input, &part->start, &part->length)) {
            Py_DECREF(self);
            return NULL;
        }
    }
    return (PyObject *)self;
}

static void binding_free(PyObject *object)
{
    Py_XDECREF(((binding *)object)->result);
    Py_XDECREF(((binding *)object)->limits);
    Py_TYPE(object)->tp_free(object);
}

static PyTypeObject Binding = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rbdhw_binding.Binding",
    .tp_basicsize = sizeof(binding),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(binding, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = binding_new,
    .tp_dealloc = binding_free,
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "rbdhw_binding", .m_size = -1};

PyMODINIT_FUNC PyInit_rbdhw_binding(void)
{
    import_array();
    if (PyType_Ready(&Binding) < 0) return NULL;
    PyObject *made = PyModule_Create(&module);
    if (made != NULL && PyModule_AddObjectRef(made, "Binding", (PyObject *)&Binding) < 0) Py_CLEAR(made);
    return made;
}

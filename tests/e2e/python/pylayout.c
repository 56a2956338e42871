/*
 * pylayout.c - where things lie in an interpreter, by its own headers: compiled against each that is installed, and
 * compared with preload/unwind/pylayout.c (pystack.t). Lines "name offset", as tests/prog/lib/pystack.c prints them.
 */
#define Py_BUILD_CORE 1
#include "Python.h"

#include <stddef.h>
#if PY_VERSION_HEX < 0x03090000
#include "internal/pycore_pystate.h"
#else
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#endif
#if PY_VERSION_HEX < 0x030b0000
#include "frameobject.h"

#else
#include "internal/pycore_frame.h"

#endif

#include "internal/pycore_gil.h"

#define PUT(name, ...) printf(#name " %zu\n", (size_t)offsetof(__VA_ARGS__))

static void put_state(void)
{
#if PY_VERSION_HEX < 0x03090000
	PUT(finalizing, _PyRuntimeState, finalizing);
#else
	PUT(finalizing, _PyRuntimeState, _finalizing);
#endif
#if PY_VERSION_HEX < 0x030c0000
	PUT(lock, _PyRuntimeState, interpreters.mutex);
#endif
	PUT(interpreters, _PyRuntimeState, interpreters.head);
#if PY_VERSION_HEX < 0x030c0000
	PUT(gil, _PyRuntimeState, ceval.gil);
#else
	PUT(gil, PyInterpreterState, ceval.gil);
#endif
	PUT(gil_holder, struct _gil_runtime_state, last_holder);
	PUT(gil_locked, struct _gil_runtime_state, locked);
	PUT(next_interpreter, PyInterpreterState, next);
#if PY_VERSION_HEX < 0x030b0000
	PUT(threads, PyInterpreterState, tstate_head);
#else
	PUT(threads, PyInterpreterState, threads.head);
#endif
#if PY_VERSION_HEX < 0x030c0000
	PUT(modules, PyInterpreterState, modules);
#else
	PUT(modules, PyInterpreterState, imports.modules);
#endif
	PUT(next_thread, PyThreadState, next);
	PUT(thread_id, PyThreadState, thread_id);
}

static void put_frame(void)
{
#if PY_VERSION_HEX < 0x030b0000
	PUT(current, PyThreadState, frame);
	PUT(previous, PyFrameObject, f_back);
	PUT(code, PyFrameObject, f_code);
	PUT(instruction, PyFrameObject, f_lasti);
	PUT(locals, PyFrameObject, f_valuestack);
	PUT(generator_frame, PyGenObject, gi_frame);
#if PY_VERSION_HEX < 0x030a0000
	PUT(stack, PyFrameObject, f_stacktop);
#else
	PUT(stack, PyFrameObject, f_stackdepth);
#endif
	return;
#else
	PUT(previous, _PyInterpreterFrame, previous);
#if PY_VERSION_HEX < 0x030d0000
	PUT(current, PyThreadState, cframe);
	PUT(cframe_current, _PyCFrame, current_frame);
	PUT(code, _PyInterpreterFrame, f_code);
	PUT(instruction, _PyInterpreterFrame, prev_instr);
#else
	PUT(current, PyThreadState, current_frame);
	PUT(code, _PyInterpreterFrame, f_executable);
	PUT(instruction, _PyInterpreterFrame, instr_ptr);
#endif
#if PY_VERSION_HEX >= 0x030f0000
	PUT(base, PyThreadState, base_frame);
#endif
#if PY_VERSION_HEX < 0x030c0000
	PUT(is_entry, _PyInterpreterFrame, is_entry);
#else
	PUT(owner, _PyInterpreterFrame, owner);
#endif
#if PY_VERSION_HEX >= 0x030e0000 && defined(Py_GIL_DISABLED)
	PUT(copy_number, _PyInterpreterFrame, tlbc_index);
	PUT(copies, PyCodeObject, co_tlbc);
#endif
	PUT(locals, _PyInterpreterFrame, localsplus);
#if PY_VERSION_HEX < 0x030e0000
	PUT(stack, _PyInterpreterFrame, stacktop);
#else
	PUT(stack, _PyInterpreterFrame, stackpointer);
#endif
	PUT(generator_frame, PyGenObject, gi_iframe);
	PUT(generator_state, PyGenObject, gi_frame_state);
	PUT(qualified_name, PyCodeObject, co_qualname);
	PUT(bytecode, PyCodeObject, co_code_adaptive);
#endif
}

int main(void)
{
	printf("version %u\n", (unsigned)(PY_VERSION_HEX >> 16));
	put_state();
	put_frame();
	PUT(name, PyCodeObject, co_name);
	PUT(file, PyCodeObject, co_filename);
	PUT(first_line, PyCodeObject, co_firstlineno);
#if PY_VERSION_HEX < 0x030a0000
	PUT(line_table, PyCodeObject, co_lnotab);
#else
	PUT(line_table, PyCodeObject, co_linetable);
#endif
	PUT(type, PyObject, ob_type);
	PUT(bytes_size, PyBytesObject, ob_base.ob_size);
	PUT(bytes, PyBytesObject, ob_sval);
	PUT(text_length, PyASCIIObject, length);
	PUT(text_state, PyASCIIObject, state);
	printf("text_ascii %zu\ntext_compact %zu\n", sizeof(PyASCIIObject),
	       sizeof(PyCompactUnicodeObject));
	return 0;
}

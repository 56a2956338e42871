/* why_places.c - of the frames of a stack the line that a person would look at, and what the frames give away. */
#include "tests/unit/why/why_test.h"

/* The place and the flags of a stack. */
static const char *place_flags(const char *frames, uint16_t *flags)
{
	static char text[2400];
	struct places p;
	uint32_t number;
	int id = stack_id(frames);

	open_report();
	assert_int_equal(places_open(&p, test.db), SQLITE_OK);
	number = places_of(&p, 0, id, flags);
	snprintf(text, sizeof(text), "%s%s", p.list[number].text ? p.list[number].text : "-",
		 p.list[number].is_own ? " (own)" : "");
	places_close(&p);
	return text;
}

static void expect(const char *frames, const char *place, unsigned flags)
{
	uint16_t got;

	assert_string_equal(place_flags(frames, &got), place);
	assert_int_equal(got, flags);
}

/* A test of one stack each, as the report is read once. */
#define STACK(name, frames, place, flags)     \
	static void name(void **state)        \
	{                                     \
		(void)state;                  \
		expect(frames, place, flags); \
	}

/* ---- which frame ---- */

STACK(line_of_the_program_in_python, "f /me/a.py:3; main /me/a.py:9", "a.py:3 in f (own)",
      PLACE_SCRIPT)
STACK(python_counts_before_native, "g /me/libx.so /me/x.c:7; f /me/a.py:3", "a.py:3 in f (own)", 0)
STACK(program_counts_before_its_packages, "get /usr/lib/python3/dist-packages/y.py:1; f /me/a.py:3",
      "a.py:3 in f (own)", PLACE_SCRIPT)
STACK(package_where_there_is_no_program, "get /x/site-packages/y.py:1; run /x/site-packages/y.py:8",
      "y.py:1 in get", PLACE_SCRIPT)
STACK(line_of_compiled_code, "f /me/a /me/a.c:3; main /me/a /me/a.c:9", "a.c:3 in f (own)",
      PLACE_ITSELF)
STACK(native_code_without_a_line, "f /me/a", "f in a (own)", PLACE_ITSELF)
STACK(address_has_no_name, "?0x1234 /me/a", "a, without symbols", 0)
STACK(name_counts_before_an_address, "?0x1234 /me/a; f /me/a", "f in a (own)", 0)
STACK(program_counts_before_a_header, "vec /me/a /usr/include/c++/12/vec.h:5; f /me/a /me/a.cc:3",
      "a.cc:3 in f (own)", PLACE_ITSELF)
STACK(header_where_there_is_no_program, "vec /me/a /usr/include/c++/12/vec.h:5", "vec.h:5 in vec",
      0)
STACK(program_counts_before_the_systems_libraries,
      "deflate /usr/lib/x86_64-linux-gnu/libz.so.1; f /me/a /me/a.c:3", "a.c:3 in f (own)", 0)
STACK(library_of_the_system_where_there_is_no_program, "deflate /usr/lib/libz.so.1",
      "deflate in libz.so.1", 0)
STACK(header_counts_before_the_systems_libraries,
      "deflate /usr/lib/libz.so.1; vec /me/a /usr/include/c++/12/vec.h:5", "vec.h:5 in vec", 0)
STACK(executable_below_usr_lib_is_a_program, "f /usr/lib/git-core/git", "f in git (own)",
      PLACE_ITSELF)
STACK(library_of_another_root_is_a_program, "f /opt/usr/lib/libme.so", "f in libme.so (own)",
      PLACE_ITSELF)
STACK(frames_of_libc_and_cuda_are_no_place, "read /lib/libc.so.6; cuInit /usr/lib/libcuda.so.1",
      "-", 0)
STACK(frames_of_the_kernel_are_no_place, "copy [kernel.kallsyms]", "-", PLACE_KERNEL)
STACK(modules_of_the_kernel_are_no_place, "ioctl /lib/modules/6.1/nvidia.ko", "-", PLACE_KERNEL)
STACK(line_without_a_file, "f /me/a:7", "f in a (own)", PLACE_ITSELF)
STACK(remark_is_no_place, "x [[]]", "-", 0)
STACK(line_of_python_without_a_function_has_a_mark, "?0x1 /me/a.py:3", "a.py:3 in ? (own)",
      PLACE_SCRIPT)
/* One that has no line has its file alone. */
STACK(line_that_is_not_known, "f /me/a.py:0", "f in a.py (own)", PLACE_SCRIPT)

/* ---- code made at run time ---- */

STACK(method_of_java, "void Ledger.book(int) [JIT]; g /usr/lib/jvm/libjvm.so",
      "Ledger.book in [JIT] (own)", 0)
STACK(method_of_java_counts_before_its_library,
      "char java.lang.String.charAt(int) [JIT]; void Ledger.book(int) [JIT]",
      "Ledger.book in [JIT] (own)", 0)
STACK(method_of_java_counts_before_native_code, "f /me/a /me/a.c:3; void Ledger.book(int) [JIT]",
      "Ledger.book in [JIT] (own)", 0)
STACK(stub_of_the_run_time_is_no_place, "Interpreter [JIT]; StubRoutines (1) [JIT]; f /me/a",
      "f in a (own)", 0)
STACK(line_of_a_jitdump, "int A.f(int) [JIT] /me/A.java:7", "A.java:7 in A.f (own)", 0)
STACK(function_of_javascript, "JS:*check /me/server.js:5:15 [JIT]", "server.js:5 in check (own)", 0)
STACK(function_of_javascript_counts_before_its_library,
      "JS:*emit node:events:505:44 [JIT]; JS:~ /me/server.js:1:1 [JIT]",
      "server.js:1 in (top level) (own)", 0)
STACK(function_of_a_package, "JS:^get /me/node_modules/x/y.js:3:1 [JIT]", "y.js:3 in get", 0)
STACK(function_of_pythons_perf_map, "py::work:/me/a.py [JIT]", "work in a.py (own)", 0)

/* ---- what frames give away ---- */

STACK(import_of_python, "f <frozen importlib._bootstrap>:1; g /me/a.py:3", "a.py:3 in g (own)",
      PLACE_IMPORT | PLACE_SCRIPT)
STACK(own_module_that_an_import_runs,
      "f /me/b.py:9; g <frozen importlib._bootstrap>:1; h /me/a.py:3", "b.py:9 in f (own)",
      PLACE_SCRIPT)
STACK(library_that_an_import_runs,
      "f /usr/lib/python3/json/decoder.py:9; g <frozen importlib._bootstrap>:1; h /me/a.py:3",
      "a.py:3 in h (own)", PLACE_IMPORT | PLACE_SCRIPT)
STACK(import_of_a_file, "f <frozen importlib._bootstrap_external>",
      "f in <frozen importlib._bootstrap_external>", PLACE_IMPORT | PLACE_SCRIPT)
STACK(frozen_module_is_no_import, "f <frozen posixpath>:1; g /me/a.py:3", "a.py:3 in g (own)",
      PLACE_SCRIPT)
STACK(kernel_is_innermost, "copy [kernel.kallsyms]; f /me/a /me/a.c:3", "a.c:3 in f (own)",
      PLACE_KERNEL)
STACK(kernel_is_not_innermost, "f /me/a /me/a.c:3; copy [kernel.kallsyms]", "a.c:3 in f (own)",
      PLACE_ITSELF)
STACK(take_gil_anywhere, "x /lib/libc.so.6; take_gil /usr/bin/python3; f /me/a.py:3",
      "a.py:3 in f (own)", PLACE_GIL)
STACK(take_gil_is_no_function_of_python, "take_gil /me/a.py:3", "a.py:3 in take_gil (own)",
      PLACE_SCRIPT)
STACK(pysleep_is_innermost, "pysleep /me/x; f /me/a.py:3", "a.py:3 in f (own)", PLACE_SLEEP)
STACK(pysleep_is_not_innermost, "x /lib/libc.so.6; pysleep /me/x; f /me/a.py:3",
      "a.py:3 in f (own)", 0)
STACK(interpreter_is_innermost, "?0x1 /usr/bin/python3.11; f /me/a.py:3", "a.py:3 in f (own)",
      PLACE_PYTHON)
STACK(library_of_the_interpreter_is_innermost, "x /usr/lib/libpython3.11.so.1.0; f /me/a.py:3",
      "a.py:3 in f (own)", PLACE_PYTHON)
STACK(interpreter_is_not_innermost, "x /lib/libc.so.6; y /usr/bin/python3.11; f /me/a.py:3",
      "a.py:3 in f (own)", 0)
STACK(python_is_also_a_name, "f /me/pythonic; g /me/a.py:3", "a.py:3 in g (own)", 0)

/* ---- on whose behalf the innermost frames run ---- */

STACK(tracer_runs_for_itself, "x /opt/libtrace.so; f /me/a.py:3", "a.py:3 in f (own)", PLACE_TRACER)
STACK(kernel_runs_for_the_tracer, "copy [kernel.kallsyms]; x /opt/libtrace.so; f /me/a.py:3",
      "a.py:3 in f (own)", PLACE_TRACER | PLACE_KERNEL)
STACK(libc_runs_for_the_caller_of_the_tracer,
      "write /lib/libc.so.6; x /opt/libtrace.so; f /me/a.py:3", "a.py:3 in f (own)", 0)
STACK(libc_runs_for_cupti, "memcpy /lib/libc.so.6; x /opt/libcupti.so.13; f /me/a.py:3",
      "a.py:3 in f (own)", PLACE_TRACER)
STACK(libc_runs_for_cupti_behind_the_tracer,
      "write /lib/libc.so.6; x /opt/libtrace.so; y /opt/libcupti.so.13; f /me/a.py:3",
      "a.py:3 in f (own)", PLACE_TRACER)
STACK(program_below_cupti_runs_for_itself, "x /me/a /me/a.c:1; y /opt/libcupti.so.13",
      "a.c:1 in x (own)", PLACE_ITSELF)
STACK(loader_and_vdso_run_for_the_program, "x [vdso]; y /lib/ld-linux-x86-64.so.2; f /me/a.py:3",
      "a.py:3 in f (own)", 0)
STACK(libc_behind_libc_behind_the_tracer,
      "write /lib/libc.so.6; x /opt/libtrace.so; y /lib/libc.so.6; z /opt/libcupti.so.13; f "
      "/me/a.py:3",
      "a.py:3 in f (own)", 0)

/* A symbol of 2,000 characters. */
static void long_symbol(void **state)
{
	char frames[2100], place[2100];
	uint16_t flags;

	(void)state;
	memset(frames, 'x', 2000);
	strcpy(frames + 2000, " /me/a /me/a.c:3");
	snprintf(place, sizeof(place), "a.c:3 in %.2000s (own)", frames);
	assert_string_equal(place_flags(frames, &flags), place);
}

/* ---- many stacks ---- */

/* Equal texts are one place, though stacks differ; each is read once. Numbers may be far apart: 5000 is the first asked for. */
static void equal_lines_are_one_place(void **state)
{
	struct places p;
	uint32_t first;
	uint16_t flags;
	int a = stack_id("f /me/a.py:3; g /me/a.py:9"), b = stack_id("f /me/a.py:3");
	int c = stack_id("f /me/a.py:4"), none = 4711;

	(void)state;
	open_report();
	assert_int_equal(places_open(&p, test.db), SQLITE_OK);
	first = places_of(&p, 5000, a, &flags);
	assert_int_not_equal(first, PLACE_NONE);
	assert_int_equal(places_of(&p, 0, b, &flags), first);
	assert_int_not_equal(places_of(&p, 5001, c, &flags), first);
	/* What is known of a number is not looked up again, under whatever id. */
	assert_int_equal(places_of(&p, 5000, c, &flags), first);
	assert_int_equal(places_of(&p, 7, none, &flags), PLACE_NONE);
	assert_int_equal(p.cnt, 3);
	assert_int_equal(p.list[first].line, 3);
	assert_string_equal(p.list[first].file, "/me/a.py");
	assert_string_equal(p.list[first].function, "f");
	places_close(&p);
}

/* 1,000 places: the slots of their texts double three times. */
static void thousand_places(void **state)
{
	struct places p;
	uint16_t flags;
	int ids[1000];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		char text[32];

		snprintf(text, sizeof(text), "f /me/a.py:%d", i + 1);
		ids[i] = stack_id(text);
	}
	open_report();
	assert_int_equal(places_open(&p, test.db), SQLITE_OK);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(places_of(&p, i, ids[i], &flags), i + 1);
	/* By other numbers the same places. */
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(places_of(&p, 1000 + i, ids[i], &flags), i + 1);
	assert_int_equal(p.cnt, 1001);
	places_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(line_of_the_program_in_python),
		TEST(python_counts_before_native),
		TEST(program_counts_before_its_packages),
		TEST(package_where_there_is_no_program),
		TEST(line_of_compiled_code),
		TEST(native_code_without_a_line),
		TEST(address_has_no_name),
		TEST(name_counts_before_an_address),
		TEST(program_counts_before_a_header),
		TEST(header_where_there_is_no_program),
		TEST(program_counts_before_the_systems_libraries),
		TEST(library_of_the_system_where_there_is_no_program),
		TEST(header_counts_before_the_systems_libraries),
		TEST(executable_below_usr_lib_is_a_program),
		TEST(library_of_another_root_is_a_program),
		TEST(frames_of_libc_and_cuda_are_no_place),
		TEST(frames_of_the_kernel_are_no_place),
		TEST(modules_of_the_kernel_are_no_place),
		TEST(line_without_a_file),
		TEST(remark_is_no_place),
		TEST(line_of_python_without_a_function_has_a_mark),
		TEST(line_that_is_not_known),
		TEST(method_of_java),
		TEST(method_of_java_counts_before_its_library),
		TEST(method_of_java_counts_before_native_code),
		TEST(stub_of_the_run_time_is_no_place),
		TEST(line_of_a_jitdump),
		TEST(function_of_javascript),
		TEST(function_of_javascript_counts_before_its_library),
		TEST(function_of_a_package),
		TEST(function_of_pythons_perf_map),
		TEST(import_of_python),
		TEST(own_module_that_an_import_runs),
		TEST(library_that_an_import_runs),
		TEST(import_of_a_file),
		TEST(frozen_module_is_no_import),
		TEST(kernel_is_innermost),
		TEST(kernel_is_not_innermost),
		TEST(take_gil_anywhere),
		TEST(take_gil_is_no_function_of_python),
		TEST(pysleep_is_innermost),
		TEST(pysleep_is_not_innermost),
		TEST(interpreter_is_innermost),
		TEST(library_of_the_interpreter_is_innermost),
		TEST(interpreter_is_not_innermost),
		TEST(python_is_also_a_name),
		TEST(tracer_runs_for_itself),
		TEST(kernel_runs_for_the_tracer),
		TEST(libc_runs_for_the_caller_of_the_tracer),
		TEST(libc_runs_for_cupti),
		TEST(libc_runs_for_cupti_behind_the_tracer),
		TEST(program_below_cupti_runs_for_itself),
		TEST(loader_and_vdso_run_for_the_program),
		TEST(libc_behind_libc_behind_the_tracer),
		TEST(long_symbol),
		TEST(equal_lines_are_one_place),
		TEST(thousand_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

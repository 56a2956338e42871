/* why_jit_name.c - the parts of names that run times give to the code that they make. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "exporters/why/model/jit_name.h"

/* "FUNCTION FILE:LINE", and marks: library, nameless. */
static const char *parts(const char *symbol)
{
	static char text[256];
	struct jit_name n = jit_name(symbol);

	snprintf(text, sizeof(text), "%.*s %.*s:%d%s%s", n.function_len, n.function, n.file_len,
		 n.file ? n.file : "", n.line, n.is_library ? " library" : "",
		 n.is_nameless ? " nameless" : "");
	return text;
}

static void names_of_v8(void **state)
{
	(void)state;
	assert_string_equal(parts("JS:*check /me/s.js:5:15"), "check /me/s.js:5");
	assert_string_equal(parts("JS:^check /me/s.js:5:15"), "check /me/s.js:5");
	assert_string_equal(parts("LazyCompile:~check /me/s.js:12"), "check /me/s.js:12");
	assert_string_equal(parts("JS:~ file:///me/s.mjs:1:1"), "(top level) file:///me/s.mjs:1");
	assert_string_equal(parts("JS:*emit node:events:505:44"), "emit node:events:505 library");
	assert_string_equal(parts("JS:*get /x/node_modules/y/z.js:3:1"),
			    "get /x/node_modules/y/z.js:3 library");
	assert_string_equal(parts("JS:*lonely"), "lonely :0");
	assert_string_equal(parts("JS:*f :"), "f ::0");
	assert_string_equal(parts("JS:*f "), "f :0");
	assert_string_equal(parts("JS:*f 5:6:7"), "f 5:6");
	assert_string_equal(parts("JS:"), "(top level) :0");
}

static void names_of_cpython(void **state)
{
	(void)state;
	assert_string_equal(parts("py::work:/me/a.py"), "work /me/a.py:0");
	assert_string_equal(parts("py::get:/usr/lib/python3/dist-packages/y.py"),
			    "get /usr/lib/python3/dist-packages/y.py:0 library");
	assert_string_equal(parts("py::"), "py:: :0 nameless");
}

static void names_of_hotspot(void **state)
{
	(void)state;
	assert_string_equal(parts("java.lang.String Ledger.format(int, int)"), "Ledger.format :0");
	assert_string_equal(parts("char java.lang.String.charAt(int)"),
			    "java.lang.String.charAt :0 library");
	assert_string_equal(parts("f()"), "f :0");
	assert_string_equal(parts("StubRoutines (1)"), "StubRoutines (1) :0 nameless");
	assert_string_equal(parts("()"), "() :0 nameless");
	assert_string_equal(parts("Interpreter"), "Interpreter :0 nameless");
}

static void function_without_a_name_is_nameless(void **state)
{
	(void)state;
	assert_string_equal(parts(NULL), "? :0 nameless");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_v8),
		cmocka_unit_test(names_of_cpython),
		cmocka_unit_test(names_of_hotspot),
		cmocka_unit_test(function_without_a_name_is_nameless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

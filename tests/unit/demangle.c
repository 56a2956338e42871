/* demangle.c - names of functions as stacks show them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/demangle.h"

#include <stdlib.h>
#include <string.h>

static void check(const char *symbol, const char *expected)
{
	char *name = demangle_function(symbol);

	assert_non_null(name);
	assert_string_equal(name, expected);
	free(name);
}

static void functions_of_c_are_what_they_are(void **state)
{
	(void)state;
	check("read", "read");
	check("", "");
	check("_Z", "_Z");
	check("_Zx", "_Zx");
	check("main", "main");
	check("with.dot", "with.dot");
}

static void versions_go(void **state)
{
	(void)state;
	check("__libc_start_main@@GLIBC_2.34", "__libc_start_main");
	check("memcpy@GLIBC_2.2.5", "memcpy");
	check("_ZNSo3putEc@@GLIBCXX_3.4", "std::ostream::put");
	check("@", "@");
}

static void what_compilers_add_goes(void **state)
{
	(void)state;
	check("f.cold", "f");
	check("f.isra.0", "f");
	check("f.part.3.constprop.1", "f");
	check("f.colder", "f.colder");
	check("f.llvm.123456", "f");
	check("_Z1fi.cold", "f");
	check("_ZN3geo5outerEi.isra.0", "geo::outer");
}

static void parameters_and_results_go_scopes_stay(void **state)
{
	(void)state;
	check("_ZN3geo5outerEi", "geo::outer");
	check("_ZNK3geo3BoxIlLi3EE3putEi", "geo::Box<long, 3>::put");
	check("_ZN3geo5twiceIiEET_S1_", "geo::twice<int>");
	check("_ZN3geo12_GLOBAL__N_16unseenEi", "geo::(anonymous namespace)::unseen");
	check("_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f");
	check("_ZNSt6vectorIiSaIiEE9push_backERKi",
	      "std::vector<int, std::allocator<int> >::push_back");
	check("_ZSt4sortIPPFiiEEvT_S3_", "std::sort<int (**)(int)>");
	check("_ZN1AC1Ev", "A::A");
	check("_ZN1AD0Ev", "A::~A");
	check("_ZNK1A1fB5cxx11Ev", "A::f[abi:cxx11]");
}

static void operators_keep_their_brackets(void **state)
{
	(void)state;
	check("_ZN1AclEi", "A::operator()");
	check("_ZNK1AltERKS_", "A::operator<");
	check("_ZN1AlsIiEERS_T_", "A::operator<< <int>");
	check("_ZN1AcvbEv", "A::operator bool");
	check("_ZN1AcvPKcEv", "A::operator char const*");
	check("_Znwm", "operator new");
	check("_ZdaPv", "operator delete[]");
	check("_ZN1AixEi", "A::operator[]");
}

static void functions_within_functions_lose_only_parameters(void **state)
{
	(void)state;
	check("_ZZN3geo5outerEiENKUliE_clEi", "geo::outer::{lambda(int)#1}::operator()");
	check("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()");
	check("_ZZNK1A1fEvE5local", "A::f::local");
}

static void rust_is_read_too(void **state)
{
	(void)state;
	check("_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place");
	check("_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$"
	      "4drop17h0123456789abcdefE",
	      "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_c_are_what_they_are),
		cmocka_unit_test(versions_go),
		cmocka_unit_test(what_compilers_add_goes),
		cmocka_unit_test(parameters_and_results_go_scopes_stay),
		cmocka_unit_test(operators_keep_their_brackets),
		cmocka_unit_test(functions_within_functions_lose_only_parameters),
		cmocka_unit_test(rust_is_read_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* demangle.c - names of functions as stacks show them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/symbols/demangle.h"

#include <stdio.h>
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

static void versions_of_symbols_are_dropped(void **state)
{
	(void)state;
	check("__libc_start_main@@GLIBC_2.34", "__libc_start_main");
	check("memcpy@GLIBC_2.2.5", "memcpy");
	check("_ZNSo3putEc@@GLIBCXX_3.4", "std::ostream::put");
	check("@", "@");
}

static void suffixes_of_compilers_are_dropped(void **state)
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

static void check_base(const char *text, const char *expected)
{
	const char *begin;
	size_t len = demangle_base(text, &begin);

	assert_int_equal(len, strlen(expected));
	assert_memory_equal(begin, expected, len);
}

static void kernels_have_short_names(void **state)
{
	(void)state;
	check_base("void at::native::(anonymous namespace)::fill<float, 4>(int, float*)", "fill");
	check_base("kernel", "kernel");
	check_base("A::operator()<int>(int) const", "operator()");
	/* Numba's */
	check_base("cudapy::__main__::add[abi:v1][abi:cw51c](Array<float, 1, C>, int)", "add");
	check_base("cudapy::a::_3clocals_3e::sum[abi:v2](Array<float, 1, C, mutable>)", "sum");
	check_base("geo::f[abi:cxx11]<int>(int)", "f");
}

static void rust_is_read_too(void **state)
{
	(void)state;
	check("_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place");
	check("_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$"
	      "4drop17h0123456789abcdefE",
	      "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop");
}

/* From a program that rustc 1.95 made, with what it should be by its source. */
static void rust_of_version_0_is_read_too(void **state)
{
	(void)state;
	check("_RINvCs6xxl1lAjzDf_1a4ptrstEB2_", "a::ptrs::<u16>");
	check("_RINvCs6xxl1lAjzDf_1a5tupleFG_RL0_hERL0_hEB2_", "a::tuple::<fn(&u8) -> &u8>");
	check("_RINvCs6xxl1lAjzDf_1a5tupleQDNtNtCsgEmfK2I1SDS_4core3fmt5DebugEL_EB2_",
	      "a::tuple::<&mut dyn core::fmt::Debug>");
	check("_RINvCs6xxl1lAjzDf_1a5tupleThEEB2_", "a::tuple::<(u8,)>");
	check("_RINvNvMs2_NtCslNYArtu3iFV_5alloc7raw_vecINtB8_11RawVecInnerpE7reserve21do_reserve_"
	      "and_handleNtNtBa_5alloc6GlobalEBa_",
	      "<alloc::raw_vec::RawVecInner<_>>::reserve::do_reserve_and_handle::<alloc::alloc::"
	      "Global>");
	check("_RINvYINtCs6xxl1lAjzDf_1a6CircleKj7_ENtB6_5Shape3mapTdReENCNvB6_4mains0_0EB6_",
	      "<a::Circle<7> as a::Shape>::map::<(f64, &str), a::main::{closure#2}>");
	check("_RNCNCINvNtNtCs6xxl1lAjzDf_1a5inner4deep7genericTaoAfj3_uEE00Ba_",
	      "a::inner::deep::generic::<(i8, u128, [f32; 3], ())>::{closure#0}::{closure#0}");
	check("_RNCNCNvCs6xxl1lAjzDf_1a4mains_00B5_", "a::main::{closure#1}::{closure#0}");
	check("_RNSNvYNCNvCs6xxl1lAjzDf_1a4mains1_0INtNtNtCsgEmfK2I1SDS_"
	      "4core3ops8function6FnOnceTReEE9call_once6vtableB8_",
	      "<a::main::{closure#3} as "
	      "core::ops::function::FnOnce<(&str,)>>::call_once::{shim:vtable#0}");
	check("_RNvMs0_Cs6xxl1lAjzDf_1aINtB5_4FlagKb0_Kca_Ks12c_E3runB5_",
	      "<a::Flag<false, '\\u{a}', 300>>::run");
	check("_RNvMs0_Cs6xxl1lAjzDf_1aINtB5_4FlagKb1_Kc78_Ksn5_E3runB5_",
	      "<a::Flag<true, '\\u{78}', -5>>::run");
	check("_RNvMs_Cs6xxl1lAjzDf_1aINtB4_6CircleKj7_Eu9gre_6ka8iB4_",
	      "<a::Circle<7>>::gre_6ka8i");
	/* What compilers add goes here, too; another version stays as it is. */
	check("_RNvC1a4main.cold", "a::main");
	check("_RNvC1a4main.llvm.8A3D", "a::main");
	check("_RNvC1a4main@@V1", "a::main");
	check("_R0NvC1a4main", "_R0NvC1a4main");
	check("_RNvC1a4main+", "_RNvC1a4main+");
	check("_R", "_R");
}

static void rust_may_hold_constants_and_types_of_all_kinds(void **state)
{
	(void)state;
	/* Strings and structures are constants in no stable version. */
	check("_RIC1aKRe616263_E", "_RIC1aKRe616263_E");
	check("_RIC1aKTh1_EE", "_RIC1aKTh1_EE");
	check("_RIC1aKpKo10000000000000000_Kxn1_E", "a::<_, 0x10000000000000000, -1>");
	check("_RIC1aSRL_hPlOmQeE", "a::<[&u8], *const i32, *mut u32, &mut str>");
	check("_RIC1aFUKCpEuFK5a_b_cEzE",
	      "a::<unsafe extern \"C\" fn(_), extern \"a_b_c\" fn() -> !>");
	check("_RIC1aDG_INtC1b1TL0_Ep1ImEL_E", "a::<dyn b::T<'_, I = u32>>");
	check("_RIC1aDNtC1b1TNtB6_1UEL_E", "a::<dyn b::T + b::U>");
	check("_RNvC1au10mdchen_bua", "a::mdchen_bua");
}

/* Neither of these is a name; nothing is read past its end, and no text has no end. */
static void rust_may_be_nonsense(void **state)
{
	static const char *const wrong[] = {"_RNvC1a4mai",
					    "_RNvC1a",
					    "_RNvC1a9999999999999999999999f",
					    "_RB_",
					    "_RNvB_1f",
					    "_RMC1aB3_",
					    "_RIC1aB3_E",
					    "_RINvC1a1fKb2_E",
					    "_RNvC1a1fE",
					    "_RIC1aKcd800_E",
					    "_RIC1aKRec3_E",
					    "_RIC1aKReff_E",
					    "_RIC1aKe6_E",
					    "_RNvCsZZZZZZZZZZZZZZ_1a1f",
					    "_RNvC1au3-_9",
					    "_RIC1aDNtC1b1TEE"};
	char deep[3000] = "_R", wide[4000] = "_RIC1a";

	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		check(wrong[i], wrong[i]);
	memset(deep + 2, 'M', sizeof(deep) - 3);
	check(deep, deep);
	memset(deep + 2, 'S', sizeof(deep) - 3);
	memcpy(deep + 2, "IC1a", 4);
	check(deep, deep);
	/* Each pair is twice the one before: 2^40 of them. */
	strcat(wide, "ThhE");
	for (unsigned i = 0, at = 4; i < 40; i++) {
		static const char digit[] =
			"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
		char back[16], pair[40];
		unsigned n = at - 1;

		snprintf(back, sizeof(back), n < 62 ? "B%c_" : "B%c%c_", digit[n < 62 ? n : n / 62],
			 digit[n % 62]);
		at = (unsigned)strlen(wide) - 2;
		snprintf(pair, sizeof(pair), "T%s%sE", back, back);
		strcat(wide, pair);
	}
	strcat(wide, "E");
	check(wide, wide);
}

/* Real names with a character changed, or cut: whatever comes of it, it is a text or the symbol. */
static void rust_may_be_damaged(void **state)
{
	static const char real[] = "_RINvMs2_NtCslNYArtu3iFV_5alloc3vecINtB5_3VecDG_"
				   "INtNtC4core3ops5FnMutTRL0_eEEp6OutputuEL_"
				   "E6resizeKc78_KRe6162_FUKCmEuECs6xxl1lAjzDf_1a";
	static const char with[] = "_0129aBCDEFGIKLMNPRSTUXYsuvh.$\x80\xff";
	char text[sizeof(real)], *name;
	unsigned seed = 1;

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		memcpy(text, real, sizeof(real));
		for (unsigned n = 1 + i % 3; n; n--) {
			seed = seed * 1103515245 + 12345;
			text[2 + (seed >> 8) % (sizeof(real) - 3)] =
				with[(seed >> 20) % (sizeof(with) - 1)];
		}
		seed = seed * 1103515245 + 12345;
		if (i % 4 == 0)
			text[2 + (seed >> 8) % (sizeof(real) - 3)] = 0;
		name = demangle_function(text);
		assert_non_null(name);
		free(name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_c_are_what_they_are),
		cmocka_unit_test(versions_of_symbols_are_dropped),
		cmocka_unit_test(suffixes_of_compilers_are_dropped),
		cmocka_unit_test(parameters_and_results_go_scopes_stay),
		cmocka_unit_test(operators_keep_their_brackets),
		cmocka_unit_test(functions_within_functions_lose_only_parameters),
		cmocka_unit_test(kernels_have_short_names),
		cmocka_unit_test(rust_is_read_too),
		cmocka_unit_test(rust_of_version_0_is_read_too),
		cmocka_unit_test(rust_may_hold_constants_and_types_of_all_kinds),
		cmocka_unit_test(rust_may_be_nonsense),
		cmocka_unit_test(rust_may_be_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* kernel_asker.c - names of the kernel's functions: the form of an answer, and answers compared with /proc/kallsyms. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/symbols/kernel_asker.h"

static enum kernel_answer parse(const char *text, const char **function, const char **module)
{
	static char copy[KERNEL_TEXT_BYTES];

	snprintf(copy, sizeof(copy), "%s", text);
	*function = *module = "untouched";
	return kernel_answer_parse(copy, function, module);
}

static void an_answer_is_a_name_with_or_without_a_module(void **state)
{
	const char *function, *module;

	(void)state;
	assert_int_equal(parse("schedule", &function, &module), KERNEL_NAMED);
	assert_string_equal(function, "schedule");
	assert_null(module);
	assert_int_equal(parse("ext4_read [ext4]", &function, &module), KERNEL_NAMED);
	assert_string_equal(function, "ext4_read");
	assert_string_equal(module, "[ext4]");
}

static void a_text_that_is_no_name_is_no_answer(void **state)
{
	char longest[KERNEL_TEXT_BYTES];
	const char *function, *module;

	(void)state;
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	assert_int_equal(parse("", &function, &module), KERNEL_UNKNOWN);
	assert_int_equal(parse("0xffffffff81000000", &function, &module), KERNEL_UNKNOWN);
	assert_int_equal(parse("name module]", &function, &module), KERNEL_UNKNOWN);
	assert_int_equal(parse("name [module", &function, &module), KERNEL_UNKNOWN);
	assert_int_equal(parse(" [module]", &function, &module), KERNEL_UNKNOWN);
	assert_int_equal(parse(longest, &function, &module), KERNEL_UNKNOWN);
	longest[sizeof(longest) - 2] = 0;
	assert_int_equal(parse(longest, &function, &module), KERNEL_NAMED);
}

static void code_of_bpf_programs_is_told_from_the_kernels(void **state)
{
	const char *function, *module;

	(void)state;
	assert_int_equal(parse("bpf_prog_78bd741d2b669913_on_done", &function, &module),
			 KERNEL_NAMED);
	assert_string_equal(module, "[bpf]");
	assert_int_equal(parse("bpf_trampoline_6442525884", &function, &module), KERNEL_NAMED);
	assert_string_equal(module, "[bpf]");
	assert_int_equal(parse("bpf_prog_array_free", &function, &module), KERNEL_NAMED);
	assert_null(module);
	assert_int_equal(parse("bpf_trampoline_link_prog", &function, &module), KERNEL_NAMED);
	assert_null(module);
	assert_int_equal(parse("bpf_dispatcher_xdp", &function, &module), KERNEL_DOUBTFUL);
	assert_int_equal(parse("bpf__tcp_congestion_ops_init", &function, &module),
			 KERNEL_DOUBTFUL);
}

struct symbol {
	uint64_t at;
	char name[512], module[128];
};

static bool read_symbol(FILE *f, struct symbol *s)
{
	char line[1024], type;

	s->module[0] = 0;
	return fgets(line, sizeof(line), f) &&
	       sscanf(line, "%" SCNx64 " %c %511s %127s", &s->at, &type, s->name, s->module) >= 3;
}

/* Functions of the kernel and of modules, not of BPF: others may come and go. Alone at their addresses. */
static bool is_steady(const struct symbol *before, const struct symbol *s,
		      const struct symbol *after)
{
	return s->at && s->at != before->at && s->at < after->at &&
	       strncmp(s->name, "bpf_", 4) != 0 && strncmp(s->module, "[_", 2) != 0 &&
	       strcmp(s->module, "[bpf]") != 0;
}

/* @type is not looked at by the kernel: a variable is named, too. */
static void the_kernel_answers_as_its_table_says(void **state)
{
	struct kernel_asker *a = kernel_asker_open();
	FILE *f = fopen("/proc/kallsyms", "re");
	struct symbol s[3] = {{0}};
	unsigned asked = 0, cnt = 0, named = 0;
	char text[KERNEL_TEXT_BYTES];

	(void)state;
	if (!a || !f || !read_symbol(f, &s[1])) {
		kernel_asker_close(a);
		if (f)
			fclose(f);
		skip();
	}
	for (; read_symbol(f, &s[2]); s[0] = s[1], s[1] = s[2]) {
		const char *function, *module;

		if (++cnt % 97 || !is_steady(&s[0], &s[1], &s[2]))
			continue;
		assert_true(kernel_asker_ask(a, s[1].at, text));
		asked++;
		/* Outside of the kernel's code: data, code that is gone. */
		if (kernel_answer_parse(text, &function, &module) != KERNEL_NAMED)
			continue;
		named++;
		assert_string_equal(function, s[1].name);
		assert_string_equal(module ? module : "", s[1].module);
	}
	/* No addresses: they are hidden. */
	if (asked)
		assert_true(named * 2 > asked);
	assert_true(kernel_asker_ask(a, 16, text));
	assert_string_equal(text, "0x10");
	fclose(f);
	kernel_asker_close(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_a_name_with_or_without_a_module),
		cmocka_unit_test(a_text_that_is_no_name_is_no_answer),
		cmocka_unit_test(code_of_bpf_programs_is_told_from_the_kernels),
		cmocka_unit_test(the_kernel_answers_as_its_table_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* kernel_types.c - types taken out of the kernel's BTF: of BTF by hand, and of the one of this kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifndef SL_HAVE_BPF
int main(void)
{
	return 0;
}
#else

#include <bpf/btf.h>
#include <errno.h>

#include "collector/kernel/bpf/kernel_types.h"

#define CNT(names) (sizeof(names) / sizeof(*(names)))

static struct kernel_types taken;

static struct btf *take(struct btf *from, const char *const *names, size_t cnt)
{
	uint32_t bytes;
	const void *raw = btf__raw_data(from, &bytes);

	kernel_types_free(&taken);
	assert_int_equal(kernel_types_make(&taken, raw, bytes, names, cnt), 0);
	return btf__new(taken.btf, taken.bytes);
}

static const struct btf_member *member(const struct btf *btf, const char *of, const char *name)
{
	int id = btf__find_by_name_kind(btf, of, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), name))
			return &btf_members(t)[i];
	return NULL;
}

static unsigned kind_of_member(const struct btf *btf, const char *of, const char *name)
{
	const struct btf_member *m = member(btf, of, name);

	assert_non_null(m);
	return btf_kind(btf__type_by_id(btf, m->type));
}

/* Of: other; task with members through a name, an array, a pointer, a struct that is named and one that is not. */
static struct btf *by_hand(void)
{
	struct btf *b = btf__new_empty();
	int number = btf__add_int(b, "int", 4, BTF_INT_SIGNED), other, array, pid, part, wanted,
	    nameless, pointer;

	other = btf__add_struct(b, "other", 16);
	assert_int_equal(btf__add_field(b, "inside", number, 0, 0), 0);
	array = btf__add_array(b, number, number, 3);
	pid = btf__add_typedef(b, "pid_t", number);
	part = btf__add_struct(b, "part", 4);
	assert_int_equal(btf__add_field(b, "of_part", number, 0, 0), 0);
	wanted = btf__add_const(b, part);
	nameless = btf__add_union(b, NULL, 4);
	assert_int_equal(btf__add_field(b, "in_union", pid, 0, 0), 0);
	pointer = btf__add_ptr(b, other);
	assert_true(btf__add_struct(b, "task", 64) > 0);
	assert_int_equal(btf__add_field(b, "pid", pid, 32, 0), 0);
	assert_int_equal(btf__add_field(b, "list", array, 64, 0), 0);
	assert_int_equal(btf__add_field(b, "next", pointer, 192, 0), 0);
	assert_int_equal(btf__add_field(b, "other", other, 256, 0), 0);
	assert_int_equal(btf__add_field(b, "part", wanted, 384, 0), 0);
	assert_int_equal(btf__add_field(b, NULL, nameless, 416, 0), 0);
	assert_int_equal(btf__add_field(b, "flag", number, 449, 1), 0);
	assert_true(btf__add_func(b, "call", BTF_FUNC_GLOBAL, btf__add_func_proto(b, number)) > 0);
	assert_true(btf__add_typedef(b, "btf_trace_x", pointer) > 0);
	return b;
}

static void a_struct_keeps_its_members_and_their_places(void **state)
{
	static const char *const names[] = {"part", "task"};
	struct btf *from = by_hand(), *b = take(from, names, CNT(names));

	(void)state;
	assert_int_equal(member(b, "task", "pid")->offset & 0xffffff, 32);
	assert_int_equal(kind_of_member(b, "task", "pid"), BTF_KIND_INT);
	assert_int_equal(kind_of_member(b, "task", "list"), BTF_KIND_ARRAY);
	assert_int_equal(btf__resolve_size(b, member(b, "task", "list")->type), 12);
	assert_int_equal(kind_of_member(b, "task", "next"), BTF_KIND_PTR);
	assert_int_equal(btf__type_by_id(b, member(b, "task", "next")->type)->type, 0);
	/* A field of one bit: the size stands above the place. */
	assert_int_equal(member(b, "task", "flag")->offset, 1u << 24 | 449);
	btf__free(b);
	btf__free(from);
}

static void a_struct_without_a_wanted_name_keeps_its_size_alone(void **state)
{
	static const char *const names[] = {"part", "task"};
	struct btf *from = by_hand(), *b = take(from, names, CNT(names));
	const struct btf_type *t = btf__type_by_id(b, member(b, "task", "other")->type);

	(void)state;
	assert_int_equal(btf_kind(t), BTF_KIND_STRUCT);
	assert_int_equal(t->size, 16);
	assert_int_equal(btf_vlen(t), 0);
	assert_non_null(member(b, "part", "of_part"));
	/* One without a name belongs to the struct around it. */
	t = btf__type_by_id(b, member(b, "task", "")->type);
	assert_int_equal(btf_kind(t), BTF_KIND_UNION);
	assert_int_equal(btf_vlen(t), 1);
	btf__free(b);
	btf__free(from);
}

/* The last one is at the end of the text. */
static void a_name_is_compared_to_its_end(void **state)
{
	static const char *const all[] = {"ab", "abcdefgh", "abcdefghi", "abcdefghj", "b", "a"},
				 *const names[] = {"a", "abcdefgh", "abcdefghj"};
	struct btf *b = btf__new_empty(), *got;

	(void)state;
	for (size_t i = 0; i < CNT(all); i++)
		assert_true(btf__add_struct(b, all[i], 8) > 0);
	got = take(b, names, CNT(names));
	assert_int_equal(taken.cnt, 3);
	for (size_t i = 0; i < CNT(all); i++) {
		bool is_named = i == 1 || i == 3 || i == 5;

		assert_int_equal(btf__find_by_name_kind(got, all[i], BTF_KIND_STRUCT) > 0,
				 is_named);
	}
	btf__free(got);
	btf__free(b);
}

static void an_id_leads_back_to_the_kernels(void **state)
{
	static const char *const names[] = {"btf_trace_x", "call", "task"};
	static const uint32_t kinds[] = {BTF_KIND_TYPEDEF, BTF_KIND_FUNC, BTF_KIND_STRUCT};
	struct btf *from = by_hand(), *b = take(from, names, CNT(names));

	(void)state;
	for (size_t i = 0; i < CNT(names); i++) {
		int id = btf__find_by_name_kind(b, names[i], kinds[i]),
		    real = btf__find_by_name_kind(from, names[i], kinds[i]);

		assert_true(id > 0 && real > 0);
		assert_true((uint32_t)id <= taken.cnt);
		assert_int_equal(taken.real[id - 1], real);
	}
	assert_true(btf__find_by_name_kind(b, "other", BTF_KIND_TYPEDEF) < 0);
	btf__free(b);
	btf__free(from);
}

static void bytes_of_another_form_are_refused(void **state)
{
	static const char *const names[] = {"task"};
	struct btf *from = by_hand();
	uint32_t bytes;
	const void *raw = btf__raw_data(from, &bytes);
	char *copy = malloc(bytes);
	struct btf_header *head = (void *)copy;
	struct kernel_types t = {0};

	(void)state;
	for (uint32_t cut = 0; cut < bytes; cut += 5) {
		memcpy(copy, raw, bytes);
		assert_int_equal(kernel_types_make(&t, copy, cut, names, 1), -EINVAL);
	}
	memcpy(copy, raw, bytes);
	head->magic = 0;
	assert_int_equal(kernel_types_make(&t, copy, bytes, names, 1), -EINVAL);
	memcpy(copy, raw, bytes);
	head->type_len -= 4;
	assert_int_equal(kernel_types_make(&t, copy, bytes, names, 1), -EINVAL);
	memcpy(copy, raw, bytes);
	copy[bytes - 1] = 'x'; /* the names do not end */
	assert_int_equal(kernel_types_make(&t, copy, bytes, names, 1), -EINVAL);
	assert_null(t.btf);
	free(copy);
	btf__free(from);
}

static void a_type_that_contains_itself_is_refused(void **state)
{
	static const char *const names[] = {"task"};
	struct btf *b = btf__new_empty();
	struct kernel_types t = {0};
	const void *raw;
	uint32_t bytes;

	(void)state;
	assert_int_equal(btf__add_struct(b, "task", 8), 1);
	assert_int_equal(btf__add_field(b, "again", 1, 0, 0), 0);
	raw = btf__raw_data(b, &bytes);
	assert_int_equal(kernel_types_make(&t, raw, bytes, names, 1), -EINVAL);
	btf__free(b);
}

/* The names of programs: libbpf finds the same in both. */
static void this_kernels_task_is_the_same_in_both(void **state)
{
	static const char *const names[] = {"cred", "mm_struct", "task_struct"};
	static const char *const members[] = {"flags", "pid",    "tgid", "comm",
					      "mm",    "signal", "cred", "exit_code"};
	struct btf *all = btf__parse_raw("/sys/kernel/btf/vmlinux"), *b;

	(void)state;
	if (!all)
		skip();
	b = take(all, names, CNT(names));
	assert_true(taken.bytes < 65536);
	for (size_t i = 0; i < CNT(members); i++) {
		const struct btf_member *real = member(all, "task_struct", members[i]),
					*m = member(b, "task_struct", members[i]);

		assert_int_equal(m == NULL, real == NULL);
		if (!m)
			continue;
		assert_int_equal(m->offset, real->offset);
		assert_int_equal(btf__resolve_size(b, m->type), btf__resolve_size(all, real->type));
	}
	assert_int_equal(kernel_types_struct("pt_regs"),
			 btf__find_by_name_kind(all, "pt_regs", BTF_KIND_STRUCT));
	assert_int_equal(kernel_types_struct("no such type"), 0);
	btf__free(b);
	btf__free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_struct_keeps_its_members_and_their_places),
		cmocka_unit_test(a_struct_without_a_wanted_name_keeps_its_size_alone),
		cmocka_unit_test(a_name_is_compared_to_its_end),
		cmocka_unit_test(an_id_leads_back_to_the_kernels),
		cmocka_unit_test(bytes_of_another_form_are_refused),
		cmocka_unit_test(a_type_that_contains_itself_is_refused),
		cmocka_unit_test(this_kernels_task_is_the_same_in_both),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	kernel_types_free(&taken);
	return failed;
}
#endif

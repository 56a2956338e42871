/*
 * cfi.c - rows of call frame information: from tables written here byte by byte, and from the C library's own, whole and
 * damaged.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/unwind/cfi.h"

/* ---- tables written here, as if they were at BASE ---- */

#define BASE UINT64_C(0x500000)
#define CODE UINT64_C(0x400000)

static uint8_t bytes[4096];
static unsigned len;

static void put(unsigned size, uint64_t v)
{
	memcpy(bytes + len, &v, size);
	len += size;
}
static void put_at(unsigned at, unsigned size, uint64_t v)
{
	memcpy(bytes + at, &v, size);
}
#define PUT(...) put_bytes((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))
static void put_bytes(const uint8_t *p, size_t n)
{
	if (n)
		memcpy(bytes + len, p, n);
	len += (unsigned)n;
}

/* An entry's beginning; what is returned is for end_entry(). */
static unsigned begin_entry(bool is_64)
{
	put(4, is_64 ? 0xffffffff : 0);
	if (is_64)
		put(8, 0);
	return len;
}
static void end_entry(unsigned from, bool is_64)
{
	while (len % 8)
		PUT(0);
	put_at(from - (is_64 ? 8 : 4), is_64 ? 8 : 4, len - from);
}

struct made {
	const char *augmentation;
	unsigned version;
	bool is_64, has_search_table;
	uint8_t enc; /* of addresses of code */
};

/* One function of 0x100 bytes at CODE, with the given instructions in its CIE (behind the usual ones) and its FDE. */
static struct sl_cfi make(const struct made *m, const uint8_t *cie, size_t cie_len,
			  const uint8_t *fde, size_t fde_len)
{
	unsigned from, cie_at, fde_at, search_at, here;

	memset(bytes, 0, sizeof(bytes));
	len = 0;
	PUT(1, 0x1b, m->has_search_table ? 0x03 : 0xff, m->has_search_table ? 0x3b : 0xff);
	put(4, 28 - 4); /* the frames, from here on */
	put(4, 1);
	search_at = len;
	put(8, 0);
	put(8, 0);
	cie_at = len;
	from = begin_entry(m->is_64);
	put(4, 0);
	PUT((uint8_t)m->version);
	put_bytes((const uint8_t *)m->augmentation, strlen(m->augmentation) + 1);
	if (m->version == 4)
		PUT(8, 0);
	PUT(1, 0x78, 16); /* code by 1, data by -8, return address in 16 */
	if (*m->augmentation == 'z') {
		unsigned at = len;

		PUT(0);
		for (const char *a = m->augmentation + 1; *a; a++)
			if (*a == 'P')
				PUT(0x9b, 1, 2, 3, 4);
			else if (*a == 'L')
				PUT(0x1b);
			else if (*a == 'R')
				PUT(m->enc);
		bytes[at] = (uint8_t)(len - at - 1);
	}
	PUT(0x0c, 7, 8, 0x80 | 16, 1); /* CFA = rsp + 8, return address at CFA - 8 */
	put_bytes(cie, cie_len);
	end_entry(from, m->is_64);
	fde_at = len;
	from = begin_entry(m->is_64);
	here = len;
	put(4, here - cie_at);
	here = len;
	if (m->enc == 0x1b) {
		put(4, CODE - (BASE + here));
		put(4, 0x100);
	} else {
		put(8, CODE);
		put(8, 0x100);
	}
	if (*m->augmentation == 'z')
		PUT(0);
	put_bytes(fde, fde_len);
	end_entry(from, m->is_64);
	put(4, 0);
	put_at(search_at, 4, CODE - BASE);
	put_at(search_at + 4, 4, fde_at);
	return (struct sl_cfi){.header = BASE,
			       .low = BASE,
			       .high = BASE + len,
			       .at = (intptr_t)bytes - (intptr_t)BASE};
}

static const struct made usual = {"zR", 1, false, true, 0x1b};

static struct sl_row row_at(const struct sl_cfi *t, unsigned offset)
{
	struct sl_row r;

	sl_cfi_row(t, CODE + offset, &r);
	return r;
}

static void assert_row(const struct sl_cfi *t, unsigned offset, enum sl_row_kind kind, int cfa,
		       int ra, int fp, unsigned size)
{
	struct sl_row r = row_at(t, offset);

	assert_int_equal(r.kind, kind);
	assert_int_equal(r.cfa, cfa);
	assert_int_equal(r.ra, ra);
	assert_int_equal(r.fp, fp);
	assert_int_equal(r.size, size);
}

#if defined(__x86_64__)
/* push rbp; mov rsp, rbp; ... pop rbp; ret; and the rest again as in the body */
static const uint8_t prologue[] = {
	0x41, 0x0e, 16,   0x86, 2,             /* 1: CFA = rsp + 16, rbp at CFA - 16 */
	0x43, 0x0d, 6,                         /* 4: CFA = rbp + 16 */
	0x02, 0x40, 0x0a, 0x0c, 7, 8,    0xc6, /* 0x44: remembered, CFA = rsp + 8, rbp as before */
	0x03, 0x01, 0x00, 0x0b,                /* 0x45: recalled */
	0x04, 0x08, 0,    0,    0, 0x2e, 0x20, 0x0e, 24, /* 0x4d: size of arguments */
};

static void assert_prologue(const struct sl_cfi *t)
{
	assert_row(t, 0, SL_ROW_SP, 8, -8, 0, 1);
	assert_row(t, 1, SL_ROW_SP, 16, -8, -16, 3);
	assert_row(t, 3, SL_ROW_SP, 16, -8, -16, 1);
	assert_row(t, 4, SL_ROW_FP, 16, -8, -16, 0x40);
	assert_row(t, 0x43, SL_ROW_FP, 16, -8, -16, 1);
	assert_row(t, 0x44, SL_ROW_SP, 8, -8, 0, 1);
	assert_row(t, 0x45, SL_ROW_FP, 16, -8, -16, 8);
	assert_row(t, 0x4d, SL_ROW_FP, 24, -8, -16, 0x100 - 0x4d);
	assert_row(t, 0xff, SL_ROW_FP, 24, -8, -16, 1);
	assert_int_equal(row_at(t, 0x100).kind, SL_ROW_NONE);
	assert_int_equal(row_at(t, (unsigned)-1).kind, SL_ROW_NONE);
}

static void rows_follow_the_instructions(void **state)
{
	static const struct made ways[] = {
		{"zR", 1, false, true, 0x1b},   {"zR", 1, false, false, 0x1b},
		{"zR", 3, false, true, 0x1b},   {"zR", 4, false, true, 0x1b},
		{"zR", 1, true, true, 0x1b},    {"zR", 1, true, false, 0x1b},
		{"zPLR", 1, false, true, 0x1b}, {"zRB", 1, false, true, 0x00},
		{"", 1, false, true, 0x00},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct sl_cfi t = make(&ways[i], NULL, 0, prologue, sizeof(prologue));

		assert_prologue(&t);
	}
}

static void what_is_not_known_is_no_row(void **state)
{
	static const struct made ways[] = {
		{"zX", 1, false, true, 0x1b}, {"eh", 1, false, true, 0x00},
		{"zR", 2, false, true, 0x1b}, {"zR", 5, false, true, 0x1b},
		{"zR", 1, false, true, 0x2b},
	};
	static const uint8_t no_such_instruction[] = {0x3f}, recall[] = {0x0b},
			     too_long[] = {0x0f, 0x7f, 0x77},
			     huge[] = {0x0e, 0xff, 0xff, 0xff, 0xff, 0x7f};

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct sl_cfi t = make(&ways[i], NULL, 0, NULL, 0);

		assert_int_equal(row_at(&t, 0).kind, SL_ROW_NONE);
	}
#define ASSERT_NONE(program)                                                       \
	do {                                                                       \
		struct sl_cfi t = make(&usual, NULL, 0, program, sizeof(program)); \
		assert_int_equal(row_at(&t, 0).kind, SL_ROW_NONE);                 \
	} while (0)
	ASSERT_NONE(no_such_instruction);
	ASSERT_NONE(recall);
	ASSERT_NONE(too_long);
	ASSERT_NONE(huge);
}

static void expressions_of_linkers_and_compilers_are_rows(void **state)
{
	static const uint8_t plt[] = {0x0f, 11,   0x77, 8,    0x80, 0,   0x3f,
				      0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22},
			     realigned[] = {0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x78, 0x06},
			     end[] = {0x07, 16}, other[] = {0x0c, 10, 0};
	struct sl_cfi t;

	(void)state;
	t = make(&usual, NULL, 0, plt, sizeof(plt));
	assert_row(&t, 0, SL_ROW_SP, 8, -8, 0, 11);
	assert_row(&t, 10, SL_ROW_SP, 8, -8, 0, 1);
	assert_row(&t, 11, SL_ROW_SP, 16, -8, 0, 5);
	assert_row(&t, 0x2f, SL_ROW_SP, 16, -8, 0, 1);
	t = make(&usual, NULL, 0, realigned, sizeof(realigned));
	assert_row(&t, 0x10, SL_ROW_FP_AT, -8, -8, 0, 0xf0);
	t = make(&usual, NULL, 0, end, sizeof(end));
	assert_int_equal(row_at(&t, 5).kind, SL_ROW_END);
	t = make(&usual, NULL, 0, other, sizeof(other));
	assert_int_equal(row_at(&t, 5).kind, SL_ROW_FULL);
}

/* ---- steps ---- */

/* Memory is where an address reads as twice itself; odd ones are not there. */
static bool read_double(void *ctx, uint64_t address, uint64_t *value)
{
	(void)ctx;
	*value = address * 2;
	return !(address & 1);
}

static struct sl_regs some_regs(void)
{
	struct sl_regs r = {.pc = CODE + 9, .known = 1u << 3 | 1u << 6 | 1u << 7 | 1u << 12};

	r.value[3] = 0x30;
	r.value[6] = 0x600;
	r.value[7] = 0x700;
	r.value[12] = 0xc0;
	return r;
}

static bool step(const uint8_t *program, size_t n, const char *augmentation, struct sl_regs *r,
		 bool *is_signal)
{
	struct made m = usual;
	struct sl_cfi t;

	m.augmentation = augmentation;
	t = make(&m, NULL, 0, program, n);
	*r = some_regs();
	*is_signal = false;
	return sl_cfi_step(&t, CODE + 9, r, read_double, NULL, is_signal);
}
#define STEP(r, ...)                                                                          \
	step((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), "zR", r, \
	     &is_signal)

static void a_step_finds_all_registers(void **state)
{
	struct sl_regs r;
	bool is_signal;

	(void)state;
	/* CFA = rbx + 0x50 = 0x80; rbp at -16, r12 is CFA - 24, r13 = rbx, r14 not at all */
	assert_true(STEP(&r, 0x0c, 3, 0x50, 0x86, 2, 0x14, 12, 3, 0x09, 13, 3, 0x07, 14));
	assert_int_equal(r.value[7], 0x80);
	assert_int_equal(r.pc, 0x78 * 2);
	assert_int_equal(r.value[6], 0x70 * 2);
	assert_int_equal(r.value[12], 0x68);
	assert_int_equal(r.value[13], 0x30);
	assert_int_equal(r.value[3], 0x30);
	assert_false(r.known >> 14 & 1);
	assert_false(is_signal);
	/* The CFA is in an unknown register. */
	assert_false(STEP(&r, 0x0c, 10, 0));
	/* Memory that is not there: the return address, and another that is only lost. */
	assert_false(STEP(&r, 0x0c, 7, 1));
	assert_true(STEP(&r, 0x10, 6, 2, 0x77, 1));
	assert_false(r.known >> 6 & 1);
	/* The outermost. */
	assert_true(STEP(&r, 0x07, 16));
	assert_int_equal(r.pc, 0);
}

static void signal_frames_are_marked(void **state)
{
	/* As glibc has it: everything at an offset from the stack pointer, by expressions. */
	static const uint8_t program[] = {0x0f, 4,    0x77, 0xa0, 1,    0x06, 0x10, 16,
					  3,    0x77, 0xa8, 1,    0x10, 10,   2,    0x77,
					  8,    0x10, 3,    3,    0x77, 0x80, 1};
	struct sl_regs r;
	bool is_signal;

	(void)state;
	assert_true(step(program, sizeof(program), "zRS", &r, &is_signal));
	assert_true(is_signal);
	assert_int_equal(r.value[7], 0x7a0 * 2);
	assert_int_equal(r.pc, (0x700 + 168) * 2);
	assert_int_equal(r.value[10], 0x708 * 2);
	assert_int_equal(r.value[3], 0x780 * 2);
	assert_int_equal(r.value[12], 0xc0);
}

/* CFA = what the expression gives. */
static uint64_t value_of(const uint8_t *expression, size_t n)
{
	uint8_t program[128] = {0x0f, (uint8_t)n};
	struct sl_regs r;
	bool is_signal;

	memcpy(program + 2, expression, n);
	return step(program, n + 2, "zR", &r, &is_signal) ? r.value[7] : 0;
}
#define VALUE(...) value_of((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void expressions_are_evaluated(void **state)
{
	(void)state;
	assert_int_equal(VALUE(0x08, 200), 200);
	assert_int_equal(VALUE(0x0b, 0x38, 0xff, 0x0a, 0xd0, 0x07, 0x22), 1800);
	assert_int_equal(VALUE(0x10, 0xe8, 0x07, 0x11, 0x78, 0x22), 992);
	assert_int_equal(VALUE(0x3a, 0x34, 0x12, 0x1e, 0x1e), 160);         /* 10 * (4 * 4) */
	assert_int_equal(VALUE(0x4a, 0x34, 0x16, 0x1c, 0x1f, 0x23, 2), 24); /* -(4 - 26) + 2 */
	assert_int_equal(VALUE(0x32, 0x34, 0x38, 0x17, 0x13, 0x24), 32);    /* rot: 8 2 4 */
	assert_int_equal(VALUE(0x77, 0, 0x92, 6, 8, 0x1c, 0x23, 8), 0x700 - 0x608 + 8);
	assert_int_equal(VALUE(0x80, 0, 0x0c, 9, 0, 0x40, 0, 0x29, 0x23, 31),
			 32); /* the instruction's own address */
	assert_int_equal(VALUE(0x08, 0x90, 0x94, 1), 0x20);
	assert_int_equal(VALUE(0x38, 0x31, 0x28, 1, 0, 0x13, 0x06), 16); /* past the drop */
	/* What must fail: nothing there, too deep, round and round, a jump out of it, divided by 0. */
	assert_int_equal(VALUE(0x22), 0);
	assert_int_equal(VALUE(0x38, 0x12, 0x2f, 0xfc, 0xff), 0);
	assert_int_equal(VALUE(0x38, 0x2f, 0xfd, 0xff), 0);
	assert_int_equal(VALUE(0x38, 0x2f, 0x10, 0), 0);
	assert_int_equal(VALUE(0x38, 0x30, 0x1b), 0);
	assert_int_equal(VALUE(0xf0), 0);
}
#endif

/* ---- the C library's table ---- */

struct file {
	uint8_t *
		bytes; /* of the segment that the table is in, between two pages that cannot be read */
	size_t size;
	struct sl_cfi cfi;
	uint64_t code, code_end;
};

static int find_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct file *f = arg;

	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			f->cfi.header = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t from = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && f->cfi.header - from < p->p_filesz) {
			f->cfi.low = from;
			f->cfi.high = from + p->p_filesz;
		}
		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			f->code = from;
			f->code_end = from + p->p_filesz;
		}
	}
	return 1;
}

static struct file libc_table(void)
{
	struct file f = {0};
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room;
	uint8_t *p;

	assert_int_equal(dl_iterate_phdr(find_libc, &f), 1);
	f.size = f.cfi.high - f.cfi.low;
	room = (f.size + page - 1) / page * page;
	p = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + page, room, PROT_READ | PROT_WRITE), 0);
	f.bytes = p + page + room - f.size; /* its end is the page's */
	memcpy(f.bytes, (const void *)f.cfi.low, f.size);
	f.cfi.at = (intptr_t)f.bytes - (intptr_t)f.cfi.low;
	return f;
}

static uint64_t random_state = 88172645463325252u;
static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void a_copy_has_the_same_rows(void **state)
{
	struct file f = libc_table();
	struct sl_cfi here = f.cfi;
	unsigned found = 0;

	(void)state;
	here.at = 0;
	for (int i = 0; i < 20000; i++) {
		uint64_t pc = f.code + random_number() % (f.code_end - f.code);
		struct sl_row a, b;
		bool has = sl_cfi_row(&here, pc, &a);

		assert_int_equal(has, sl_cfi_row(&f.cfi, pc, &b));
		assert_memory_equal(&a, &b, sizeof(a));
		found += has && (a.kind == SL_ROW_SP || a.kind == SL_ROW_FP);
		/* The row holds for all of its size, and not wrongly. */
		if (has && a.size > 1) {
			sl_cfi_row(&here, pc + a.size - 1, &b);
			assert_int_equal(a.kind, b.kind);
			assert_int_equal(a.cfa, b.cfa);
		}
	}
	assert_true(
		found >
		10000); /* most of it is code with a table; the segment may hold more than code */
}

static bool read_any(void *ctx, uint64_t address, uint64_t *value)
{
	*value = address ^ *(uint64_t *)ctx;
	return true;
}

/* Whatever is in the table: it ends, and reads nothing outside. (Outside is memory that cannot be read.) */
static void damaged_tables_do_no_harm(void **state)
{
	struct file f = libc_table();
	uint8_t *whole = malloc(f.size);
	unsigned rows = 0;

	(void)state;
	assert_non_null(whole);
	memcpy(whole, f.bytes, f.size);
	for (int round = 0; round < 200; round++) {
		uint64_t header = f.cfi.header - f.cfi.low;
		unsigned changes = 1 + (unsigned)(random_number() % 20000);

		memcpy(f.bytes, whole, f.size);
		for (unsigned i = 0; i < changes; i++)
			f.bytes[random_number() % f.size] = (uint8_t)random_number();
		if (round % 4 == 0) /* also what leads to all the rest */
			f.bytes[header + random_number() % 16] ^=
				(uint8_t)(1 << random_number() % 8);
		for (int i = 0; i < 1000; i++) {
			uint64_t pc = f.code + random_number() % (f.code_end - f.code),
				 seed = random_number();
			struct sl_regs regs = {.pc = pc, .known = (uint32_t)random_number()};
			struct sl_row r;
			bool is_signal;

			rows += sl_cfi_row(&f.cfi, pc, &r);
			sl_cfi_step(&f.cfi, pc, &regs, read_any, &seed, &is_signal);
		}
	}
	assert_true(rows > 0);
	/* The end of the segment anywhere, and no table at all. */
	memcpy(f.bytes, whole, f.size);
	for (int i = 0; i < 20000; i++) {
		struct sl_cfi cut = f.cfi;
		struct sl_row r;

		cut.low += random_number() % f.size;
		cut.at = f.cfi.at;
		if (i % 2)
			cut.header = cut.low + random_number() % 64;
		sl_cfi_row(&cut, f.code + random_number() % (f.code_end - f.code), &r);
	}
	free(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test(rows_follow_the_instructions),
		cmocka_unit_test(what_is_not_known_is_no_row),
		cmocka_unit_test(expressions_of_linkers_and_compilers_are_rows),
		cmocka_unit_test(a_step_finds_all_registers),
		cmocka_unit_test(signal_frames_are_marked),
		cmocka_unit_test(expressions_are_evaluated),
#endif
		cmocka_unit_test(a_copy_has_the_same_rows),
		cmocka_unit_test(damaged_tables_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

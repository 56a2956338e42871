/* sample.c - stacks of samples: mappings in the order of time, numbers of stacks, callers from a piece of stack. */
#include "collector/kernel/sample/sample_unwind.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/kernel/sample/sample_stacks.h"
#include "preload/wire/frame.h"

static struct sample_files *files;
static struct sample_spaces *spaces;

static int set_up(void **state)
{
	(void)state;
	files = sample_files_new();
	spaces = sample_spaces_new(files, 0);
	return files && spaces ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	sample_spaces_free(spaces);
	sample_files_free(files);
	return 0;
}

/* ---- mappings: processes that are none, so that /proc knows nothing of them ---- */

#define NOBODY 4194303u
#define CHILD  4194302u

static void map(uint32_t pid, const char *path, uint64_t start, uint64_t end)
{
	struct sample_mapped what = {.path = path, .pid = pid, .start = start, .end = end};

	sample_spaces_mapped(spaces, &what, 1);
}

static const char *at(uint32_t pid, uint64_t address)
{
	struct sample_space *s = sample_space_get(spaces, pid, 1);
	const struct sample_range *r = sample_space_find(spaces, s, address, 1);

	return r ? r->path : "-";
}

static void a_mapping_takes_the_place_of_what_was_there(void **state)
{
	(void)state;
	map(NOBODY, "/a", 0x1000, 0x5000);
	assert_string_equal(at(NOBODY, 0xfff), "-");
	assert_string_equal(at(NOBODY, 0x1000), "/a");
	assert_string_equal(at(NOBODY, 0x4fff), "/a");
	assert_string_equal(at(NOBODY, 0x5000), "-");
	map(NOBODY, "/b", 0x2000, 0x3000);
	assert_string_equal(at(NOBODY, 0x1fff), "/a");
	assert_string_equal(at(NOBODY, 0x2000), "/b");
	assert_string_equal(at(NOBODY, 0x2fff), "/b");
	assert_string_equal(at(NOBODY, 0x3000), "/a");
	map(NOBODY, "/c", 0x2800, 0x6000);
	assert_string_equal(at(NOBODY, 0x27ff), "/b");
	assert_string_equal(at(NOBODY, 0x2800), "/c");
	assert_string_equal(at(NOBODY, 0x5fff), "/c");
	map(NOBODY, "/d", 0x800, 0x1800);
	assert_string_equal(at(NOBODY, 0x17ff), "/d");
	assert_string_equal(at(NOBODY, 0x1800), "/a");
	map(NOBODY, "/e", 0, 0x10000);
	assert_string_equal(at(NOBODY, 0x800), "/e");
	assert_string_equal(at(NOBODY, 0x27ff), "/e");
	assert_string_equal(at(NOBODY, 0xffff), "/e");
}

static void memory_of_no_file_has_one_name(void **state)
{
	(void)state;
	map(NOBODY, "//anon", 0x1000, 0x2000);
	map(NOBODY, "", 0x3000, 0x4000);
	map(NOBODY, "[stack]", 0x5000, 0x6000);
	assert_string_equal(at(NOBODY, 0x1000), "[anonymous]");
	assert_string_equal(at(NOBODY, 0x3000), "[anonymous]");
	assert_string_equal(at(NOBODY, 0x5000), "[stack]");
}

static void a_fork_is_a_copy(void **state)
{
	(void)state;
	map(NOBODY, "/a", 0x1000, 0x2000);
	sample_spaces_forked(spaces, CHILD, NOBODY);
	map(NOBODY, "/parent", 0x3000, 0x4000);
	map(CHILD, "/child", 0x5000, 0x6000);
	assert_string_equal(at(CHILD, 0x1000), "/a");
	assert_string_equal(at(CHILD, 0x3000), "-");
	assert_string_equal(at(CHILD, 0x5000), "/child");
	assert_string_equal(at(NOBODY, 0x3000), "/parent");
	assert_string_equal(at(NOBODY, 0x5000), "-");
	/* An end is not the end: samples come late. */
	sample_spaces_ended(spaces, NOBODY);
	assert_string_equal(at(NOBODY, 0x3000), "/parent");
	assert_string_equal(at(CHILD, 0x1000), "/a");
}

/* ---- pages: of data as well as of code ---- */

static void map_part(uint32_t pid, const char *path, bool is_data, uint64_t start, uint64_t offset,
		     uint64_t ns)
{
	struct sample_mapped what = {.path = path,
				     .pid = pid,
				     .start = start,
				     .end = start + 0x4000,
				     .offset = offset,
				     .is_data = is_data};

	sample_spaces_mapped(spaces, &what, ns);
}

/* "PATH OFFSET" */
static const char *page_at(uint32_t pid, uint64_t address)
{
	struct sample_space *s = sample_space_get(spaces, pid, 1);
	struct sample_page page;
	static char text[64];

	if (!sample_space_page(spaces, s, address, 1, &page))
		return "-";
	snprintf(text, sizeof(text), "%s %lx", page.path, (unsigned long)page.offset);
	return text;
}

/* For large pages; of a process whose maps still have the file, and of one that has none. */
static void code_moved_to_anonymous_memory_is_the_files(void **state)
{
	uint32_t own = (uint32_t)getpid();
	uint64_t code = (uint64_t)(uintptr_t)&map & ~UINT64_C(4095);
	const struct sample_range *r;
	const char *path;
	uint64_t bias;

	(void)state;
	path = at(own, code);
	assert_int_equal(path[0], '/');
	r = sample_space_find(spaces, sample_space_get(spaces, own, 1), code, 1);
	bias = r->bias;
	assert_true(r->to - r->from > 4096);
	map(own, "//anon", code, code + 4096);
	assert_string_equal(at(own, code), path);
	r = sample_space_find(spaces, sample_space_get(spaces, own, 1), code, 1);
	assert_true(r->from == code && r->to == code + 4096);
	assert_int_equal(r->bias, bias);
	/* A page of it is read from no file. */
	assert_string_equal(page_at(own, code), " 0");
	map_part(NOBODY, path, false, 0x10000, 0, 1);
	assert_string_equal(at(NOBODY, 0x11000), path);
	map(NOBODY, "//anon", 0x11000, 0x12000);
	assert_string_equal(at(NOBODY, 0x11000), "[anonymous]");
	/* More than what the file had is something else. */
	map(own, "//anon", code, code + (UINT64_C(1) << 30));
	assert_string_equal(at(own, code), "[anonymous]");
}

static void a_page_has_its_place_in_the_file(void **state)
{
	(void)state;
	map_part(NOBODY, "/data", true, 0x10000, 0x7000, 1);
	assert_string_equal(page_at(NOBODY, 0x10000), "/data 7000");
	assert_string_equal(page_at(NOBODY, 0x12fff), "/data 9000");
	assert_string_equal(page_at(NOBODY, 0x14000), "-");
	assert_string_equal(at(NOBODY, 0x10000), "-");
	/* Both parts that another mapping leaves keep their places. */
	map_part(NOBODY, "/long", true, 0x20000, 0, 1);
	map_part(NOBODY, "/long", true, 0x24000, 0x4000, 1);
	map_part(NOBODY, "/in", true, 0x22000, 0x1000, 2);
	assert_string_equal(page_at(NOBODY, 0x21000), "/long 1000");
	assert_string_equal(page_at(NOBODY, 0x22000), "/in 1000");
	assert_string_equal(page_at(NOBODY, 0x26000), "/long 6000");
	map_part(NOBODY, "//anon", true, 0x26000, 0x26000, 3);
	assert_string_equal(page_at(NOBODY, 0x27000), " 1000");
}

static void the_younger_of_code_and_data_is_there(void **state)
{
	(void)state;
	map_part(NOBODY, "/lib", false, 0x10000, 0, 1);
	assert_string_equal(page_at(NOBODY, 0x11000), "/lib 1000");
	map_part(NOBODY, "/data", true, 0x10000, 0, 2);
	assert_string_equal(page_at(NOBODY, 0x11000), "/data 1000");
	map_part(NOBODY, "/again", false, 0x10000, 0, 3);
	assert_string_equal(page_at(NOBODY, 0x11000), "/again 1000");
}

static void data_of_a_process_is_that_of_its_fork_but_not_of_its_exec(void **state)
{
	(void)state;
	map_part(NOBODY, "/data", true, 0x10000, 0, 1);
	sample_spaces_forked(spaces, CHILD, NOBODY);
	map_part(CHILD, "/child", true, 0x20000, 0, 2);
	assert_string_equal(page_at(CHILD, 0x10000), "/data 0");
	assert_string_equal(page_at(NOBODY, 0x20000), "-");
	sample_spaces_execed(spaces, CHILD);
	assert_string_equal(page_at(CHILD, 0x10000), "-");
	assert_string_equal(page_at(NOBODY, 0x10000), "/data 0");
}

static void an_exec_begins_anew(void **state)
{
	(void)state;
	map(NOBODY, "/a", 0x1000, 0x2000);
	sample_spaces_forked(spaces, CHILD, NOBODY);
	sample_spaces_execed(spaces, CHILD);
	assert_string_equal(at(CHILD, 0x1000), "-");
	assert_string_equal(at(NOBODY, 0x1000), "/a");
	map(CHILD, "/b", 0x1000, 0x2000);
	assert_string_equal(at(CHILD, 0x1000), "/b");
	assert_string_equal(at(NOBODY, 0x1000), "/a");
}

/* ---- numbers ---- */

static void the_same_stack_has_the_same_number(void **state)
{
	struct sample_stacks st = {0};
	uint64_t frames[3] = {1, 2, 3};
	bool is_new;
	uint32_t first;

	(void)state;
	first = sample_stacks_number(&st, 7, frames, 3, &is_new);
	assert_true(is_new);
	assert_int_equal(sample_stacks_number(&st, 7, frames, 3, &is_new), first);
	assert_false(is_new);
	assert_int_not_equal(sample_stacks_number(&st, 8, frames, 3, &is_new), first);
	assert_int_not_equal(sample_stacks_number(&st, 7, frames, 2, &is_new), first);
	frames[2] = 4;
	assert_int_not_equal(sample_stacks_number(&st, 7, frames, 3, &is_new), first);
	/* Another report has none of them; the numbers stay. */
	sample_stacks_renew(&st);
	frames[2] = 3;
	assert_int_equal(sample_stacks_number(&st, 7, frames, 3, &is_new), first);
	assert_true(is_new);
	assert_int_equal(sample_stacks_number(&st, 7, frames, 3, &is_new), first);
	assert_false(is_new);
	frames[2] = 5;
	assert_int_equal(sample_stacks_number(&st, 7, frames, 3, &is_new), 5);
	assert_true(is_new);
	sample_stacks_release(&st);
}

/* One that all rounds have, and many that only one has. */
static void stacks_out_of_use_take_no_room(void **state)
{
	struct sample_stacks st = {0};
	uint64_t always = 0, once = 0;
	bool is_new;

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		assert_int_equal(sample_stacks_number(&st, 0, &always, 1, &is_new), 1);
		assert_true(is_new);
		for (unsigned i = 0; i < 1000; i++) {
			once++;
			assert_int_equal(sample_stacks_number(&st, 0, &once, 1, &is_new), once + 1);
			assert_true(is_new);
		}
		sample_stacks_renew(&st);
	}
	/* 17 rounds are kept, and as many again may pass before the next check. */
	assert_in_range(st.slots, 17000, 65536);
	st.most = st.cnt;
	once++;
	assert_int_equal(sample_stacks_number(&st, 0, &once, 1, &is_new), once + 1);
	assert_int_equal(st.cnt, 1);
	sample_stacks_release(&st);
}

static void numbers_hold_when_there_are_many(void **state)
{
	enum {
		MANY = 100000
	};
	struct sample_stacks st = {0};
	bool is_new;

	(void)state;
	for (uint64_t i = 0; i < MANY; i++) {
		assert_int_equal(sample_stacks_number(&st, 0, &i, 1, &is_new), i + 1);
		assert_true(is_new);
	}
	for (uint64_t i = 0; i < MANY; i++) {
		assert_int_equal(sample_stacks_number(&st, 0, &i, 1, &is_new), i + 1);
		assert_false(is_new);
	}
	sample_stacks_release(&st);
}

/* ---- callers, of this very program ---- */

static struct {
	uint64_t regs[SAMPLE_REG_CNT];
	uint8_t stack[65536];
	struct sample_user user;
	uint64_t frames[SL_FRAME_MAX];
	struct sample_walk walk;
} taken;

#if defined(__x86_64__)
/* As perf has them: ax, bx, cx, dx, si, di, bp, sp, ip, r8 to r15. */
static __attribute__((noinline, no_sanitize("address"))) void take(size_t bytes)
{
	size_t left;

	__asm__ volatile("movq %%rbx, 8(%0); movq %%rbp, 48(%0); movq %%rsp, 56(%0);"
			 "leaq 1f(%%rip), %%rax; movq %%rax, 64(%0);"
			 "movq %%r12, 104(%0); movq %%r13, 112(%0); movq %%r14, 120(%0);"
			 "movq %%r15, 128(%0); 1:"
			 :
			 : "r"(taken.regs)
			 : "rax", "memory");
	/* Above all frames. */
	left = (size_t)((uintptr_t)environ - taken.regs[7]);
	bytes = bytes < left ? bytes : left;
	bytes = bytes < sizeof(taken.stack) ? bytes : sizeof(taken.stack);
	for (size_t i = 0; i < bytes; i++)
		taken.stack[i] = ((volatile uint8_t *)taken.regs[7])[i];
	taken.user = (struct sample_user){taken.regs, taken.stack, bytes, false};
}

#define ALL SIZE_MAX
static volatile int sink;
/* All of it has a place on the stack: clang keeps of an array what is used. */
#define IS_NEEDED(array) __asm__ volatile("" ::"r"(array) : "memory")

static __attribute__((noinline)) void inner(size_t bytes)
{
	volatile char room[200];

	room[0] = 1;
	IS_NEEDED(room);
	take(bytes);
	sink += room[0];
}

/* Its frame is aligned more than the ABI asks for: the table has an expression. */
static __attribute__((noinline)) void aligned(size_t bytes)
{
	volatile char room[128] __attribute__((aligned(64)));

	room[1] = 1;
	IS_NEEDED(room);
	inner(bytes);
	sink += room[1];
}

static __attribute__((noinline)) void outer(size_t bytes)
{
	aligned(bytes);
	sink++;
}

static void unwind(void)
{
	struct sample_space *s = sample_space_get(spaces, (uint32_t)getpid(), 1);

	taken.walk = sample_unwind(spaces, files, s, &taken.user, 1, taken.frames, 100);
}

static bool is_in(uint64_t frame, void (*function)(size_t))
{
	uint64_t address = sl_frame_address(frame), from = (uint64_t)(uintptr_t)function;

	return address >= from && address < from + 300;
}

static void callers_are_found_without_frame_pointers(void **state)
{
	(void)state;
	outer(ALL);
	unwind();
	assert_true(taken.walk.cnt > 5);
	assert_true(is_in(taken.frames[0], take));
	assert_true(taken.frames[0] & SL_FRAME_EXACT);
	assert_true(is_in(taken.frames[1], inner));
	assert_false(taken.frames[1] & SL_FRAME_EXACT);
	assert_true(is_in(taken.frames[2], aligned));
	assert_true(is_in(taken.frames[3], outer));
	for (unsigned i = 0; i < taken.walk.cnt; i++)
		assert_false(taken.frames[i] & SL_FRAME_BY_FP);
	/* Down to _start(). */
	assert_int_equal(taken.walk.end, SL_REMARK_NONE);
}

/* Interrupted behind the pops, where the table still has the frame pointer in memory. */
void ending(void);
extern const char ending_here[];
__asm__(".text\n.type ending, @function\nending:\n.cfi_startproc\n"
	"push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
	"pop %rbp\n.cfi_def_cfa_offset 8\nending_here: ret\n.cfi_endproc\n"
	".size ending, . - ending\n");

static void what_is_popped_already_is_not_read(void **state)
{
	uint64_t stack[64] = {(uintptr_t)inner + 4};

	(void)state;
	memset(taken.regs, 0, sizeof(taken.regs));
	taken.regs[7] = (uintptr_t)stack;
	taken.regs[8] = (uintptr_t)ending_here;
	taken.user = (struct sample_user){taken.regs, (uint8_t *)stack, sizeof(stack), false};
	unwind();
	assert_true(taken.walk.cnt >= 2);
	assert_int_equal(taken.frames[1], (uintptr_t)inner + 4);
}

/* Interrupted in what the start files bring, with the caller so many words up. */
static void is_called_from_inner(const uint8_t *code, unsigned words)
{
	uint64_t stack[64] = {0};

	stack[words] = (uintptr_t)inner + 4;
	memset(taken.regs, 0, sizeof(taken.regs));
	taken.regs[7] = (uintptr_t)stack;
	taken.regs[8] = (uintptr_t)code;
	taken.user = (struct sample_user){taken.regs, (uint8_t *)stack, sizeof(stack), false};
	unwind();
	assert_true(taken.walk.cnt >= 2);
	assert_int_equal(taken.frames[1], (uintptr_t)inner + 4);
}

extern void _init(void);
typedef void array_fn(void);
extern __attribute__((visibility("hidden"))) array_fn *const __init_array_start[];
extern __attribute__((visibility("hidden"))) array_fn *const __fini_array_start[];

static void start_files_have_no_table_but_callers(void **state)
{
	const uint8_t *init = (const uint8_t *)(uintptr_t)_init,
		      *dummy = (const uint8_t *)(uintptr_t)__init_array_start[0],
		      *dtors = (const uint8_t *)(uintptr_t)__fini_array_start[0];
	unsigned endbr = init[0] == 0xf3 ? 4 : 0;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* It has brought other functions first. */
#endif
	/* sub $8, %rsp */
	is_called_from_inner(init, 0);
	is_called_from_inner(init + endbr, 0);
	is_called_from_inner(init + endbr + 4, 1);
	is_called_from_inner(init + endbr + 11, 1);
	/* cmpb, jne; push %rbp */
	endbr = dtors[0] == 0xf3 ? 4 : 0;
	is_called_from_inner(dtors, 0);
	is_called_from_inner(dtors + endbr, 0);
	is_called_from_inner(dtors + endbr + 9, 0);
	is_called_from_inner(dtors + endbr + 10, 1);
	is_called_from_inner(dummy, 0);
	is_called_from_inner(dtors - 16, 0);
}

static void a_stack_that_goes_on_behind_what_we_have_is_cut(void **state)
{
	(void)state;
	outer(300);
	unwind();
	assert_int_equal(taken.walk.end, SL_REMARK_MEMORY);
	assert_in_range(taken.walk.cnt, 2, 4);
	assert_true(is_in(taken.frames[0], take));
	assert_int_equal(taken.frames[taken.walk.cnt - 1], SL_FRAME_REMARK | SL_REMARK_MEMORY);
	outer(0);
	unwind();
	assert_int_equal(taken.walk.cnt, 2);
	assert_int_equal(taken.walk.end, SL_REMARK_MEMORY);
}

static void no_more_than_was_asked_for(void **state)
{
	struct sample_space *s = sample_space_get(spaces, (uint32_t)getpid(), 1);

	(void)state;
	outer(ALL);
	taken.walk = sample_unwind(spaces, files, s, &taken.user, 1, taken.frames, 2);
	assert_int_equal(taken.walk.cnt, 3);
	assert_int_equal(taken.walk.end, SL_REMARK_DEPTH);
	assert_int_equal(taken.frames[2], SL_FRAME_REMARK | SL_REMARK_DEPTH);
}

/* Whatever is in it: the walk ends, with a remark unless by chance at an end. */
static void a_damaged_stack_ends_the_walk(void **state)
{
	size_t bytes;
	unsigned seed = 1, whole = 0;

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		outer(ALL);
		bytes = taken.user.stack_bytes;
		for (unsigned i = 0; i < 1 + round % 50; i++)
			taken.stack[rand_r(&seed) % (round % 2 ? 600 : bytes)] =
				(uint8_t)rand_r(&seed);
		if (round % 5 == 0)
			taken.regs[rand_r(&seed) % SAMPLE_REG_CNT] ^= 1ull << rand_r(&seed) % 64;
		unwind();
		assert_true(taken.walk.cnt <= 101);
		whole += taken.walk.end == SL_REMARK_NONE;
	}
	assert_true(whole < 2000);
	outer(ALL);
	memset(taken.stack, 0xff, bytes);
	unwind();
	assert_int_equal(taken.walk.end, SL_REMARK_BROKEN);
}
#endif

/* ---- files ---- */

static void a_file_that_is_cut_has_no_rows(void **state)
{
	char path[] = "/tmp/sightline-sample-XXXXXX";
	struct sample_mapped what = {.path = path, .start = 0x10000, .end = 0x20000};
	struct sample_file *f;
	struct sl_row row;
	struct stat st;
	char *text;
	unsigned rows = 0;
	int from = open("/proc/self/exe", O_RDONLY), to = mkstemp(path);

	(void)state;
	assert_true(from >= 0 && to >= 0 && fstat(from, &st) == 0);
	text = malloc((size_t)st.st_size);
	assert_int_equal(read(from, text, (size_t)st.st_size), st.st_size);
	assert_int_equal(write(to, text, (size_t)st.st_size), st.st_size);
	f = sample_file_get(files, &what);
	assert_non_null(f);
	assert_int_equal(ftruncate(to, 100), 0);
	for (uint64_t i = 0; i < 0x40000; i += 64)
		rows += sample_file_row(files, f, i, &row);
	/* Those of the start files are known since it was opened. */
	assert_in_range(rows, 0, 6);
	unlink(path);
	close(from);
	close(to);
	free(text);
}

static void what_is_no_elf_file_has_no_rows(void **state)
{
	static const char *const paths[] = {"/etc/passwd",   "/dev/zero", "/",
					    "/no/such/file", "[heap]",    ""};
	struct sl_row row;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct sample_mapped what = {.path = paths[i], .start = 0x10000, .end = 0x20000};
		struct sample_file *f = sample_file_get(files, &what);

		assert_non_null(f);
		assert_ptr_equal(sample_file_get(files, &what), f);
		assert_false(sample_file_row(files, f, 0x10, &row));
		assert_int_equal(sample_file_bias(f, &what), 0x10000);
	}
}

static void a_file_that_has_been_replaced_is_not_read(void **state)
{
	struct sample_mapped what = {.path = "/proc/self/exe"};
	struct stat st;
	const uint8_t *id;

	(void)state;
	assert_int_equal(stat("/proc/self/exe", &st), 0);
	what.device = st.st_dev;
	what.inode = st.st_ino + 1;
	assert_int_equal(sample_file_build_id(sample_file_get(files, &what), &id), 0);
	what.inode = st.st_ino;
	assert_true(sample_file_build_id(sample_file_get(files, &what), &id) >= 16);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_mapping_takes_the_place_of_what_was_there),
		TEST(memory_of_no_file_has_one_name),
		TEST(a_fork_is_a_copy),
		TEST(code_moved_to_anonymous_memory_is_the_files),
		TEST(a_page_has_its_place_in_the_file),
		TEST(the_younger_of_code_and_data_is_there),
		TEST(data_of_a_process_is_that_of_its_fork_but_not_of_its_exec),
		TEST(an_exec_begins_anew),
		TEST(the_same_stack_has_the_same_number),
		TEST(numbers_hold_when_there_are_many),
		TEST(stacks_out_of_use_take_no_room),
#if defined(__x86_64__)
		TEST(callers_are_found_without_frame_pointers),
		TEST(what_is_popped_already_is_not_read),
		TEST(start_files_have_no_table_but_callers),
		TEST(a_stack_that_goes_on_behind_what_we_have_is_cut),
		TEST(no_more_than_was_asked_for),
		TEST(a_damaged_stack_ends_the_walk),
#endif
		TEST(a_file_that_is_cut_has_no_rows),
		TEST(what_is_no_elf_file_has_no_rows),
		TEST(a_file_that_has_been_replaced_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

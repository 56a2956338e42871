/* The tables of GPU functions: every line can be read, means something, and stands where it belongs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/wire/gpu_parse.h"

static const char *const LIBRARY[] = {
#define LIBRARY_ONE(id, soname, flag) #id,
	SL_GPU_LIBRARIES(LIBRARY_ONE)
#undef LIBRARY_ONE
};

/* Calls @one for each line, with its library. */
static void each_line(void (*one)(const struct sl_gpu_line *line, unsigned library))
{
	const char *at = sl_gpu_text;
	unsigned library = 0;

	for (unsigned i = 0; i < SL_GPU_FUNCTION_CNT; i++) {
		struct sl_gpu_line line;

		while (i >= sl_gpu_first[library + 1])
			library++;
		at = sl_gpu_next(at, &line);
		one(&line, library);
	}
	assert_int_equal(*at, 0);
}

static void fail_line(const struct sl_gpu_line *line, const char *what)
{
	fail_msg("%s, \"%s\", \"%s\": %s", line->name, line->abi, line->roles, what);
}

/* What a role may stand for: a number or a handle, not a structure or a floating point number. */
static void check_use(const struct sl_gpu_line *line, const struct sl_gpu_use *use,
		      const struct sl_gpu_type *type)
{
	bool is_grid = use->role >= SL_GPU_ROLE_gridx && use->role <= SL_GPU_ROLE_blockz;

	if (use->is_pointer && type->letter != 'p')
		fail_line(line, "* of what is no pointer");
	if (use->part && type->letter != '2')
		fail_line(line, "grid or block of what is no dim3");
	if (use->hashed && !use->is_pointer &&
	    (type->letter != 'm' || use->hashed != type->words * 8))
		fail_line(line, "a hash of what is no structure of that size");
	if (!strchr("izp", type->letter) && !(is_grid && type->letter == '2') && !use->hashed)
		fail_line(line, "a role of what cannot be recorded");
}

static void check_line(const struct sl_gpu_line *line, unsigned library)
{
	struct sl_gpu_type types[SL_GPU_PARAMETERS + 1];
	struct sl_gpu_use uses[SL_GPU_ARGS];
	int type_cnt = sl_gpu_types(line->abi, types), use_cnt = sl_gpu_uses(line->roles, uses);

	(void)library;
	if (type_cnt < 0)
		fail_line(line, "types");
	if (use_cnt == SL_GPU_SKIP)
		return;
	if (use_cnt < 0)
		fail_line(line, "roles");
	for (int i = 0; i < use_cnt; i++) {
		if (uses[i].argument > type_cnt)
			fail_line(line, "there is no such argument");
		check_use(line, &uses[i], &types[uses[i].argument]);
	}
}

static void lines_are_valid(void **state)
{
	(void)state;
	each_line(check_line);
}

static const char *before;
static unsigned before_library, before_until;

static void check_order(const struct sl_gpu_line *line, unsigned library)
{
	int order = before && before_library == library ? strcmp(before, line->name) : -1;

	if (order > 0 || (order == 0 && !line->until))
		fail_line(line, "not in alphabetical order, or twice");
	/* Those of older versions follow the newest, and are newer first. */
	if (line->until && (order || (before_until && before_until <= line->until)))
		fail_line(line, "not where lines of older versions belong");
	before = line->name;
	before_library = library;
	before_until = line->until;
}

static void lines_are_sorted(void **state)
{
	(void)state;
	before = NULL;
	each_line(check_order);
}

static void older_lines_are_recognized(void **state)
{
	struct sl_gpu_line line;

	(void)state;
	assert_string_equal(sl_gpu_next("cuX\0<12:ipz\0bytes=2\0cuY", &line), "cuY");
	assert_string_equal(line.name, "cuX");
	assert_int_equal(line.until, 12);
	assert_string_equal(line.abi, "ipz");
	assert_string_equal(line.roles, "bytes=2");
	sl_gpu_next("cuY\0ip\0\0", &line);
	assert_int_equal(line.until, 0);
	assert_string_equal(line.abi, "ip");
	assert_int_equal(SL_G_cudaMemAdvise_until_12, SL_G_cudaMemAdvise + 1);
}

static unsigned line_cnt[SL_GPU_LIBRARY_CNT];

static void count_line(const struct sl_gpu_line *line, unsigned library)
{
	/* A line in the wrong file would have the wrong option and the wrong owner. */
	static const char *const PREFIX[SL_GPU_LIBRARY_CNT] = {
		[SL_GPU_cudart] = "cuda",       [SL_GPU_cuda] = "cu",
		[SL_GPU_cublas] = "cublas",     [SL_GPU_cublaslt] = "cublasLt",
		[SL_GPU_cudnn] = "cudnn",       [SL_GPU_nccl] = "nccl",
		[SL_GPU_cufft] = "cufft",       [SL_GPU_cusparse] = "cusparse",
		[SL_GPU_cusolver] = "cusolver", [SL_GPU_cufile] = "cuFile",
		[SL_GPU_mpi] = "MPI_",
	};
	const char *name = line->name;

	if ((library == SL_GPU_cudart || library == SL_GPU_cufft) && !strncmp(name, "__", 2))
		name += 2;
	if ((library == SL_GPU_nccl && *name == 'p') || (library == SL_GPU_mpi && *name == 'P'))
		name++;
	if (strncmp(name, PREFIX[library], strlen(PREFIX[library])) != 0)
		fail_line(line, LIBRARY[library]);
	line_cnt[library]++;
}

static void libraries_have_their_own(void **state)
{
	(void)state;
	memset(line_cnt, 0, sizeof(line_cnt));
	each_line(count_line);
	for (unsigned i = 0; i < SL_GPU_LIBRARY_CNT; i++)
		assert_int_equal(line_cnt[i], sl_gpu_first[i + 1] - sl_gpu_first[i]);
	assert_int_equal(sl_gpu_first[0], 0);
	assert_int_equal(sl_gpu_first[SL_GPU_LIBRARY_CNT], SL_GPU_FUNCTION_CNT);
	/* The numbers of enum sl_gpu_function and the places in the text are the same. */
	assert_true(SL_G_cudaMalloc < sl_gpu_first[SL_GPU_cuda]);
	assert_true(SL_G_cuInit >= sl_gpu_first[SL_GPU_cuda] &&
		    SL_G_cuInit < sl_gpu_first[SL_GPU_cublas]);
}

static void types_are_recognized(void **state)
{
	struct sl_gpu_type t[SL_GPU_PARAMETERS + 1] = {{0}};

	(void)state;
	assert_int_equal(sl_gpu_types("ip22pzp", t), 6);
	assert_int_equal(t[0].class, SL_GPU_WORD);
	assert_int_equal(t[2].words, 2);
	assert_int_equal(sl_gpu_types("m24pym64fi", t), 5);
	assert_int_equal(t[0].class, SL_GPU_MEMORY);
	assert_int_equal(t[0].words, 3);
	assert_int_equal(t[2].class, SL_GPU_FLOAT);
	assert_int_equal(t[2].words, 2);
	assert_int_equal(t[3].words, 8);
	assert_int_equal(t[4].class, SL_GPU_FLOAT);
	assert_int_equal(sl_gpu_types("v", t), 0);
	assert_int_equal(t[0].class, SL_GPU_VOID);
	/* None of these is a type. */
	assert_int_equal(sl_gpu_types("", t), -1);
	assert_int_equal(sl_gpu_types("iq", t), -1);
	assert_int_equal(sl_gpu_types("iv", t), -1);
	assert_int_equal(sl_gpu_types("im16", t), -1);
	assert_int_equal(sl_gpu_types("im20", t), -1);
	assert_int_equal(sl_gpu_types("im", t), -1);
	assert_int_equal(sl_gpu_types("iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii", t), 40);
	assert_int_equal(sl_gpu_types("iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii", t), -1);
}

static void roles_are_recognized(void **state)
{
	struct sl_gpu_use u[SL_GPU_ARGS] = {{0}};

	(void)state;
	assert_int_equal(sl_gpu_uses("", u), 0);
	assert_int_equal(sl_gpu_uses("skip", u), SL_GPU_SKIP);
	assert_int_equal(sl_gpu_uses("kernel=1 grid=2 block=3 shared=5 stream=6", u), 9);
	assert_int_equal(u[0].role, SL_GPU_ROLE_kernel);
	assert_int_equal(u[3].role, SL_GPU_ROLE_gridz);
	assert_int_equal(u[3].part, 2);
	assert_int_equal(u[4].role, SL_GPU_ROLE_blockx);
	assert_int_equal(u[4].argument, 3);
	assert_int_equal(u[8].argument, 6);
	assert_int_equal(sl_gpu_uses("*addr=1 *n=15:i", u), 2);
	assert_true(u[0].is_pointer && !u[0].is_int);
	assert_true(u[1].is_pointer && u[1].is_int);
	assert_int_equal(u[1].argument, 15);
	assert_int_equal(
		sl_gpu_uses("kernel=2 *grid=1:i *block=1:i+12 *shared=1:i+24 *stream=1+32", u), 9);
	assert_true(u[3].role == SL_GPU_ROLE_gridz && u[3].is_int && u[3].offset == 8 &&
		    !u[3].part);
	assert_true(u[6].role == SL_GPU_ROLE_blockz && u[6].offset == 20);
	assert_true(u[8].role == SL_GPU_ROLE_stream && !u[8].is_int && u[8].offset == 32);
	assert_int_equal(sl_gpu_uses("unique=3#128 *unique=1#128", u), 2);
	assert_true(u[0].hashed == 128 && !u[0].is_pointer && u[1].hashed == 128 &&
		    u[1].is_pointer);
	/* None of these can be read. */
	assert_int_equal(sl_gpu_uses("unique=3#", u), -1);
	assert_int_equal(sl_gpu_uses("unique=3#12", u), -1);
	assert_int_equal(sl_gpu_uses("unique=3#999", u), -1);
	assert_int_equal(sl_gpu_uses("bytes=1+8", u), -1);
	assert_int_equal(sl_gpu_uses("*bytes=1+999", u), -1);
	assert_int_equal(sl_gpu_uses("count=2 *bytes=3+32*64", u), 2);
	assert_true(u[1].step == 64 && u[1].offset == 32 && u[1].is_pointer && !u[1].is_int);
	assert_int_equal(sl_gpu_uses("count=2 *bytes=3*8", u), 2);
	assert_true(u[1].step == 8 && !u[1].offset && !u[0].step);
	assert_int_equal(sl_gpu_uses("*bytes=3*8", u), -1); /* how many? */
	assert_int_equal(sl_gpu_uses("count=2 bytes=3*8", u), -1);
	assert_int_equal(sl_gpu_uses("count=2 *bytes=3*4", u), -1);
	assert_int_equal(sl_gpu_uses("count=2 *bytes=3*999", u), -1);
	assert_int_equal(sl_gpu_uses("byte=1", u), -1);
	assert_int_equal(sl_gpu_uses("bytess=1", u), -1);
	assert_int_equal(sl_gpu_uses("bytes", u), -1);
	assert_int_equal(sl_gpu_uses("bytes=0", u), -1);
	assert_int_equal(sl_gpu_uses("bytes=41", u), -1);
	assert_int_equal(sl_gpu_uses("bytes=1:i", u), -1);
	assert_int_equal(sl_gpu_uses("bytes=1,n=2", u), -1);
	assert_int_equal(sl_gpu_uses("m=1 m=1 m=1 m=1 m=1 m=1 m=1 m=1 m=1 m=1 m=1 m=1 m=1", u), -1);
}

static void roles_have_names(void **state)
{
	const char *name = sl_gpu_role_names;

	(void)state;
	for (unsigned i = 0; i < SL_GPU_ROLE_CNT; i++, name = sl_gpu_after(name))
		assert_int_equal(sl_gpu_role_find(name, strlen(name)), i);
	assert_int_equal(sl_gpu_role_find("offset", 6), SL_GPU_ROLE_offset);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_valid),
		cmocka_unit_test(lines_are_sorted),
		cmocka_unit_test(libraries_have_their_own),
		cmocka_unit_test(types_are_recognized),
		cmocka_unit_test(roles_are_recognized),
		cmocka_unit_test(roles_have_names),
		cmocka_unit_test(older_lines_are_recognized),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

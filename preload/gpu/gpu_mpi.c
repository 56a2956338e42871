/*
 * gpu_mpi.c - what MPI's handles mean, by the two ABIs there are: in Open MPI a handle is the address of an object (predefined ones
 * have symbols), in MPICH and those with its ABI (Intel MPI, MVAPICH, Cray) an int that has its meaning in its bits.
 *
 * MPI aborts a program that passes it a handle which is none. So its functions are asked about a communicator only after a call on it
 * that has succeeded, and nothing is asked about a datatype: the sizes of predefined ones are known, others are not.
 */
#include "preload/gpu/gpu_engine.h"

#include <string.h>

#include "preload/base/object.h"

/* MPICH's: <https://www.mpich.org/abi/>. */
enum {
	MPICH_COMM_NULL = 0x04000000,
	MPICH_COMM_WORLD = 0x44000000,
	MPICH_TYPE = 0x4c000000, /* of a predefined type; its size is in the second byte */
	MPICH_KIND = (int)0xff000000,
};

/* Datatypes of Open MPI, by symbol. */
static const struct {
	char name[36];
	uint8_t bytes;
} types[] = {
	{"ompi_mpi_char", 1},
	{"ompi_mpi_signed_char", 1},
	{"ompi_mpi_unsigned_char", 1},
	{"ompi_mpi_byte", 1},
	{"ompi_mpi_packed", 1},
	{"ompi_mpi_short", 2},
	{"ompi_mpi_unsigned_short", 2},
	{"ompi_mpi_int", 4},
	{"ompi_mpi_unsigned", 4},
	{"ompi_mpi_long", 8},
	{"ompi_mpi_unsigned_long", 8},
	{"ompi_mpi_long_long_int", 8},
	{"ompi_mpi_unsigned_long_long", 8},
	{"ompi_mpi_float", 4},
	{"ompi_mpi_double", 8},
	{"ompi_mpi_long_double", 16},
	{"ompi_mpi_int8_t", 1},
	{"ompi_mpi_uint8_t", 1},
	{"ompi_mpi_int16_t", 2},
	{"ompi_mpi_uint16_t", 2},
	{"ompi_mpi_int32_t", 4},
	{"ompi_mpi_uint32_t", 4},
	{"ompi_mpi_int64_t", 8},
	{"ompi_mpi_uint64_t", 8},
	{"ompi_mpi_c_bool", 1},
	{"ompi_mpi_cxx_bool", 1},
	{"ompi_mpi_aint", 8},
	{"ompi_mpi_offset", 8},
	{"ompi_mpi_count", 8},
	{"ompi_mpi_integer", 4},
	{"ompi_mpi_real", 4},
	{"ompi_mpi_dblprec", 8},
	{"ompi_mpi_logical", 4},
	{"ompi_mpi_character", 1},
	{"ompi_mpi_integer8", 8},
	{"ompi_mpi_real8", 8},
	{"ompi_mpi_cplex", 8},
	{"ompi_mpi_dblcplex", 16},
	{"ompi_mpi_c_float_complex", 8},
	{"ompi_mpi_c_double_complex", 16},
	{"ompi_mpi_2int", 8},
	{"ompi_mpi_float_int", 8},
	{"ompi_mpi_double_int", 12},
};
#define TYPE_CNT (sizeof(types) / sizeof(types[0]))

/* Handles are passed as words: an int is in the lower half of its register, or of its place in memory. */
static struct {
	bool is_int;
	uint64_t world, null;
	uint64_t type[TYPE_CNT];
	int (*size)(uint64_t comm, int *ranks);
	int (*rank)(uint64_t comm, int *rank);
	int (*group)(uint64_t comm, uint64_t *group);
	int (*translate)(uint64_t from, int cnt, const int *ranks, uint64_t to, int *found);
	int (*free_group)(uint64_t *group);
} mpi;

/* The program's own file: where that refers to an object of a library, the object itself is in it. */
static int first_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct sl_object *o = arg;

	(void)size;
	if (!sl_object_open(o, info))
		memset(o, 0, sizeof(*o));
	return 1;
}

static uint64_t object_at(const struct sl_object *program, const struct sl_object *library,
			  const char *name)
{
	void *at = program->gnu_hash ? sl_object_find(program, name) : NULL;

	return (uint64_t)(uintptr_t)(at ? at : sl_object_find(library, name));
}

bool sl_gpu_mpi_open(const struct sl_object *o, unsigned major)
{
	struct sl_object program = {0};
	bool is_open_mpi = sl_object_find(o, "ompi_mpi_comm_world");

	memset(&mpi, 0, sizeof(mpi));
	if (!is_open_mpi && major != 12)
		return false;
	mpi.size = (int (*)(uint64_t, int *))sl_object_find(o, "PMPI_Comm_size");
	mpi.rank = (int (*)(uint64_t, int *))sl_object_find(o, "PMPI_Comm_rank");
	mpi.group = (int (*)(uint64_t, uint64_t *))sl_object_find(o, "PMPI_Comm_group");
	mpi.translate = (int (*)(uint64_t, int, const int *, uint64_t, int *))sl_object_find(
		o, "PMPI_Group_translate_ranks");
	mpi.free_group = (int (*)(uint64_t *))sl_object_find(o, "PMPI_Group_free");
	if (!is_open_mpi) {
		mpi.is_int = true;
		mpi.world = MPICH_COMM_WORLD;
		mpi.null = MPICH_COMM_NULL;
		return true;
	}
	dl_iterate_phdr(first_object, &program);
	mpi.world = object_at(&program, o, "ompi_mpi_comm_world");
	mpi.null = object_at(&program, o, "ompi_mpi_comm_null");
	for (size_t i = 0; i < TYPE_CNT; i++)
		mpi.type[i] = object_at(&program, o, types[i].name);
	return true;
}

bool sl_gpu_mpi_is_int(void)
{
	return mpi.is_int;
}

bool sl_gpu_mpi_is_world(uint64_t comm)
{
	return comm == mpi.world;
}

uint64_t sl_gpu_mpi_world(void)
{
	return mpi.world;
}

bool sl_gpu_mpi_is_null(uint64_t comm)
{
	return !comm || comm == mpi.null;
}

uint64_t sl_gpu_mpi_type_bytes(uint64_t type)
{
	if (mpi.is_int)
		return ((uint32_t)type & (uint32_t)MPICH_KIND) == MPICH_TYPE ? type >> 8 & 0xff : 0;
	for (size_t i = 0; i < TYPE_CNT; i++)
		if (type && mpi.type[i] == type)
			return types[i].bytes;
	return 0;
}

bool sl_gpu_mpi_ranks(uint64_t comm, int *ranks, int *rank)
{
	return mpi.size && mpi.rank && mpi.size(comm, ranks) == 0 && mpi.rank(comm, rank) == 0;
}

/* The world's number of the communicator's rank 0; -1: not known. */
int sl_gpu_mpi_root(uint64_t comm)
{
	uint64_t of = 0, world = 0;
	int zero = 0, root = -1;

	if (!mpi.group || !mpi.translate || !mpi.free_group || mpi.group(comm, &of))
		return -1;
	if (mpi.group(mpi.world, &world) == 0) {
		if (mpi.translate(of, 1, &zero, world, &root))
			root = -1;
		mpi.free_group(&world);
	}
	mpi.free_group(&of);
	return root;
}

/*
 * gpu.h - the tables of GPU libraries, joined: numbers, names and arguments of their functions, for both sides.
 *
 * These functions have no C wrappers of their own: one forwarder (gpu_entry.c) serves all of them and passes registers
 * and stack on unchanged. So a line names a function and the types of its arguments:
 *
 *   GPU(cudaMemcpyAsync, "ippzip", "bytes=3 kind=4 stream=5")
 *
 * abi: the type of the return value, then one letter per argument of the C prototype:
 *   v nothing (return only)  i int, enum, bool, anything up to 32 bits   z 64-bit integer  p pointer or handle
 *   f float  d double  h __half by value (as i on x86-64)
 *   x structure of one SSE word (cuComplex)    y of two (cuDoubleComplex)
 *   1 2 structure of one, two integer words by value (CUmemLocation; dim3)
 *   m24 m32 ... structure of so many bytes in memory (cudaExtent, cudaPos: m24; cudaPitchedPtr: m32; IPC handles: m64)
 *
 * roles: what is recorded of the arguments, "ROLE=ARGUMENT ...", ARGUMENT counted from 1, at most SL_GPU_ARGS:
 *   bytes=3     the argument itself (low 32 bits where it is an i)
 *   grid=2      dim3 by value: three words, x y z
 *   *addr=1     the word that the argument points to, read after success only
 *   *n=5:i      the int that it points to
 *   *m=1:i+12   the int at offset 12 of that; *grid=1:i three of them
 *   esize=3     the size of MPI's datatype, where it is a predefined one
 *   *bytes=3+32*64  the sum of such words, 64 bytes apart; their number is the word recorded before ("count=2 *bytes=...")
 *   unique=4#128, *unique=1#128  hash (FNV-1a, 64 bits) of a structure of so many bytes: the argument itself (an m128), or
 *                 what it points to
 * Role names: SL_GPU_ROLE below. "skip" instead: known, but not recorded (queries of errors, versions, strings).
 *
 * Some functions changed their arguments between major versions of a library. The first line is that of the newest
 * version; OLDER lines follow, newest first, each with the last major version (of the soname) that it describes:
 *
 *   GPU(cudaMemAdvise, "ipzi1", "addr=1 bytes=2")
 *   OLDER(cudaMemAdvise, 12, "ipzii", "addr=1 bytes=2 device=4")
 *
 * One .def file per library in preload/gpu/tables/, without include guard; lines in alphabetical order.
 */
#pragma once

#include <stdint.h>

#define SL_GPU_ARGS 12u /* argument words of one call; of a call on a communicator one less */

/*
 * library, soname up to its version, flag of struct sl_session.trace. The order is that of the numbers. "libcuda.so"
 * is the driver's.
 */
#define SL_GPU_LIBRARIES(LIBRARY)                              \
	LIBRARY(cudart, "libcudart.so", SL_TRACE_CUDA)         \
	LIBRARY(cuda, "libcuda.so", SL_TRACE_CUDA)             \
	LIBRARY(cublas, "libcublas.so", SL_TRACE_CUBLAS)       \
	LIBRARY(cublaslt, "libcublasLt.so", SL_TRACE_CUBLAS)   \
	LIBRARY(cudnn, "libcudnn.so", SL_TRACE_CUDNN)          \
	LIBRARY(nccl, "libnccl.so", SL_TRACE_NCCL)             \
	LIBRARY(cufft, "libcufft.so", SL_TRACE_CUFFT)          \
	LIBRARY(cusparse, "libcusparse.so", SL_TRACE_CUSPARSE) \
	LIBRARY(cusolver, "libcusolver.so", SL_TRACE_CUSOLVER) \
	LIBRARY(cufile, "libcufile.so", SL_TRACE_GDS)          \
	LIBRARY(mpi, "libmpi.so", SL_TRACE_MPI)

enum sl_gpu_library {
#define SL_GPU_LIBRARY_ONE(id, soname, flag) SL_GPU_##id,
	SL_GPU_LIBRARIES(SL_GPU_LIBRARY_ONE)
#undef SL_GPU_LIBRARY_ONE
	SL_GPU_LIBRARY_CNT
};

/* Role, and the meaning of its words. Stored by number in SL_GPU_ARGUMENTS (ENUM_SL_GPU_ROLE): append only. */
#define SL_GPU_ROLES(ROLE)                                                            \
	ROLE(bytes, "bytes moved, allocated or asked for")                            \
	ROLE(kind, "direction: cudaMemcpyKind")                                       \
	ROLE(stream, "stream handle, 0: default")                                     \
	ROLE(device, "device ordinal or CUdevice")                                    \
	ROLE(peer, "second device, or the rank at the other end")                     \
	ROLE(event, "event handle")                                                   \
	ROLE(graph, "graph or graph exec handle")                                     \
	ROLE(node, "graph node handle")                                               \
	ROLE(kernel, "function: host address, CUfunction or CUkernel")                \
	ROLE(gridx, "blocks of the grid")                                             \
	ROLE(gridy, "blocks of the grid")                                             \
	ROLE(gridz, "blocks of the grid")                                             \
	ROLE(blockx, "threads of a block")                                            \
	ROLE(blocky, "threads of a block")                                            \
	ROLE(blockz, "threads of a block")                                            \
	ROLE(shared, "bytes of dynamic shared memory")                                \
	ROLE(dst, "address written to")                                               \
	ROLE(src, "address read from")                                                \
	ROLE(addr, "address allocated or freed")                                      \
	ROLE(value, "fill value")                                                     \
	ROLE(pitch, "bytes per row of memory")                                        \
	ROLE(width, "bytes or elements per row")                                      \
	ROLE(height, "rows")                                                          \
	ROLE(flags, "flags")                                                          \
	ROLE(context, "context or library handle (cublasHandle_t, ...)")              \
	ROLE(pool, "memory pool handle")                                              \
	ROLE(count, "elements (NCCL), calls or ids")                                  \
	ROLE(type, "element type: the library's enumeration")                         \
	ROLE(op, "operation: transposition, reduction, ...")                          \
	ROLE(root, "root rank")                                                       \
	ROLE(comm, "communicator handle")                                             \
	ROLE(ranks, "number of ranks")                                                \
	ROLE(rank, "own rank")                                                        \
	ROLE(m, "rows of the result")                                                 \
	ROLE(n, "columns of the result")                                              \
	ROLE(k, "length of the sum")                                                  \
	ROLE(batch, "matrices or transforms in one call")                             \
	ROLE(atype, "type of A: cudaDataType")                                        \
	ROLE(btype, "type of B")                                                      \
	ROLE(ctype, "type of C")                                                      \
	ROLE(compute, "type computed in")                                             \
	ROLE(offset, "offset in a file")                                              \
	ROLE(unique, "hash (FNV-1a) of an ncclUniqueId: equal on all ranks")          \
	ROLE(color, "color of a split: ranks with the same one share a communicator") \
	ROLE(key, "order of the ranks of a split")                                    \
	ROLE(seq, "number of the call: on the communicator, or with the peer")        \
	ROLE(esize, "bytes of an element (MPI); 0: not known")                        \
	ROLE(tag, "tag of a message (MPI)")                                           \
	ROLE(request, "request handle (MPI)")

enum sl_gpu_role {
#define SL_GPU_ROLE_ONE(name, what) SL_GPU_ROLE_##name,
	SL_GPU_ROLES(SL_GPU_ROLE_ONE)
#undef SL_GPU_ROLE_ONE
	SL_GPU_ROLE_CNT
};

/* Number of each line: the hook field of SL_SHAPE_API records. */
enum sl_gpu_function {
#define GPU(name, abi, roles)          SL_G_##name,
#define OLDER(name, until, abi, roles) SL_G_##name##_until_##until,
#include "preload/gpu/tables/tables.h"
#undef GPU
#undef OLDER
	SL_GPU_FUNCTION_CNT
};
_Static_assert(SL_GPU_FUNCTION_CNT <= 4096, "function numbers fit into the hook field of a record");

/*
 * All lines as text, one after the other: name '\0' abi '\0' roles '\0' ... The abi of an older one begins with "<12:".
 * No pointers, so that the tables cost a process without a GPU no relocation and no page.
 */
extern const char sl_gpu_text[];
extern const uint16_t sl_gpu_first[SL_GPU_LIBRARY_CNT +
				   1]; /* number of each library's first function; last: end */

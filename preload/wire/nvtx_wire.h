/*
 * nvtx_wire.h - NVTX in records: payload of SL_SHAPE_NVTX (hook field: enum sl_nvtx).
 *
 * A push and its pop are separate records, each with its time as start: a killed process loses no range that was
 * pushed. Both carry the level, so that a lost record affects one range and not all that follow.
 *
 * Domain numbers are unique in the arena (0: the default domain), so that a forked child's mean the same as its
 * parent's. Texts of registered strings are SL_META_STRING records. "text": a word with the length in its low 16 bits,
 * then the bytes, normally UTF-8 (not checked), padded with zeros. Change: raise SL_WIRE_VERSION.
 */
#pragma once

#include <stdint.h>

enum sl_nvtx {
	SL_NVTX_MARK = 1, /* event */
	SL_NVTX_PUSH,     /* event */
	/* [0] domain | level << 32, [1] number of blobs | SL_NVTX_POP_VALUE, with that [2] the range's payload, a signed
	 * number, blobs */
	SL_NVTX_POP,
	SL_NVTX_START,      /* event */
	SL_NVTX_END,        /* [0] domain, [1] range id, [2] number of blobs, blobs */
	SL_NVTX_DOMAIN,     /* [0] domain, text: its name */
	SL_NVTX_DOMAIN_END, /* [0] domain */
	SL_NVTX_CATEGORY,   /* [0] domain | category << 32, text */
	SL_NVTX_THREAD,     /* [0] system thread id, text */
	SL_NVTX_STRING,     /* a registered string: [0] handle, [1] string id */
	/* A resource was named. [0] domain | type << 32 (SL_NVTX_RESOURCE_*), [1] the resource: handle, address or ordinal,
	 * [2] NVTX's handle of the name or 0, text */
	SL_NVTX_RESOURCE,
	SL_NVTX_RESOURCE_END, /* [0] NVTX's handle */
	/* Layout of payloads. [0] domain | type << 32, [1] schema id, [2] flags, [3] number of entries, [4] bytes,
	 * [5] alignment, text: its name. The records of its entries come first. */
	SL_NVTX_SCHEMA,
	/* [0] domain | index << 32, [1] schema id, [2] flags, [3] type, [4] array length or union selector, [5] offset,
	 * text: name '\0' description */
	SL_NVTX_ENTRY,
	/* [0] domain, [1] schema id, [2] number of values, [3] bytes, text: its name. The records of its values come first. */
	SL_NVTX_ENUM,
	/* [0] domain | index << 32, [1] schema id, [2] value, [3] is a flag, text: its name */
	SL_NVTX_ENUM_VALUE,
	/*
	 * Python's interpreter lock (python_gil.h): the thread starts to wait for it, takes it, releases it. The collector
	 * writes ranges for these in the domain and with the strings named in sl_arena. [0] number of the lock in its
	 * process; absent for the first, that of the main interpreter. start may be earlier than that of records before.
	 */
	SL_NVTX_GIL_WAIT,
	SL_NVTX_GIL_TAKE,
	SL_NVTX_GIL_DROP,
	SL_NVTX_CNT
};

/*
 * An event: [0] domain | category << 32, [1] colour | flags << 32 | level << 48; then, as the flags say:
 * the payload's value; the range id (START alone); the string id or the text; the blobs.
 * A blob: schema id, then bytes that follow | true length << 32 (both capped), then the bytes, padded.
 */
enum {
	SL_NVTX_HAS_COLOR = 1,
	SL_NVTX_HAS_TEXT = 2,      /* text follows */
	SL_NVTX_HAS_STRING = 4,    /* id of a registered string follows */
	SL_NVTX_PAYLOAD_SHIFT = 4, /* three bits: enum sl_nvtx_payload */
	SL_NVTX_BLOBS_SHIFT = 8,   /* eight bits */
};
#define SL_NVTX_LEVEL_UNKNOWN 0xffffu
#define SL_NVTX_POP_VALUE     (UINT64_C(1) << 32)
#define SL_NVTX_BLOBS_MAX     16u

/* As NVTX numbers the types of a payload's value. */
enum sl_nvtx_payload {
	SL_NVTX_PAYLOAD_NONE = 0,
	SL_NVTX_PAYLOAD_U64,
	SL_NVTX_PAYLOAD_I64,
	SL_NVTX_PAYLOAD_F64,
	SL_NVTX_PAYLOAD_U32,
	SL_NVTX_PAYLOAD_I32,
	SL_NVTX_PAYLOAD_F32,
};

/* Types of named resources, as NVTX numbers them: class << 16 | index. */
enum {
	SL_NVTX_RESOURCE_CU_DEVICE = 4 << 16 | 1,
	SL_NVTX_RESOURCE_CU_CONTEXT = 4 << 16 | 2,
	SL_NVTX_RESOURCE_CU_STREAM = 4 << 16 | 3,
	SL_NVTX_RESOURCE_CU_EVENT = 4 << 16 | 4,
	SL_NVTX_RESOURCE_CUDA_DEVICE = 5 << 16,
	SL_NVTX_RESOURCE_CUDA_STREAM = 5 << 16 | 1,
	SL_NVTX_RESOURCE_CUDA_EVENT = 5 << 16 | 2,
	SL_NVTX_RESOURCE_THREAD = 1 << 16 | 3,
};

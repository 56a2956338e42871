/*
 * api.h - the part of CUPTI's interface that is used: constants and prototypes, so that no toolkit is needed to build.
 * Record layouts are in layout.def.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "preload/wire/session.h"

/* Versions of the API. Older ones are rejected; of versions newer than the compared headers, records are checked first. */
enum {
	CUPTI_OLDEST = 15,      /* CUDA 11.2 */
	CUPTI_COMPARED = 130599 /* CUDA 13.5 and its updates: compared with the headers */
};

enum cupti_result {
	CUPTI_OK = 0,
	CUPTI_MAX_LIMIT_REACHED = 12,
	CUPTI_NOT_INITIALIZED = 15,
	CUPTI_VIRTUALIZED = 33,
	CUPTI_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_TAKEN = 39, /* MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */
	CUPTI_VIRTUALIZED_PRIVILEGES = 40,
	CUPTI_CONFIDENTIAL = 41,
	CUPTI_MINING = 42,
	CUPTI_MIG = 43,
	CUPTI_SLI = 44,
	CUPTI_WSL = 45,
	CUPTI_UNKNOWN = 999, /* result without a driver */
};

/* Not CUPTI's: the flag of a kind that is enabled unless SL_CUDA_GRAPH_NODES is set. */
#define SL_CUDA_WHOLE_GRAPHS (1u << 31)

enum cupti_kind {
#define KIND(name, number, version, shape, flag) CUPTI_KIND_##name = number,
#include "preload/cupti/layout.def"
	CUPTI_KIND_SERIAL_KERNEL = 3, /* as CONCURRENT_KERNEL; never enabled here */
};

enum {
	CUPTI_FLUSH_FORCED = 1,
	CUPTI_ATTRIBUTE_ZEROED =
		5, /* buffers are passed zeroed: CUPTI need not do it on the program's thread */
	CUPTI_ATTRIBUTE_PER_THREAD = 9, /* a buffer per thread */
	CUPTI_THREAD_ID_DEFAULT = 0,
	CUPTI_THREAD_ID_SYSTEM = 1,
	CUPTI_DOMAIN_DRIVER = 1,
	CUPTI_DOMAIN_RUNTIME = 2,
	CUPTI_DOMAIN_RESOURCE = 3,
	CUPTI_OBJECT_THREAD = 2,
	CUPTI_POOL_IMPORTED = 2,
	CUPTI_SUBSCRIBER_NAME = 64,
};

enum cupti_resource {
	CUPTI_RESOURCE_GRAPH_CREATED = 9,
	CUPTI_RESOURCE_GRAPH_CLONED = 11,
	CUPTI_RESOURCE_NODE_CREATED = 13,
	CUPTI_RESOURCE_EXEC_CREATED = 18,
	CUPTI_RESOURCE_NODE_CLONED = 20,
};

/* Data of callbacks of the resource domain; its descriptor for graphs: the second structure. */
struct cupti_resource_data {
	void *context, *stream;
	const void *descriptor;
};
struct cupti_graph_data {
	void *graph, *original_graph, *node, *original_node;
	int node_type;
	void *dependency, *exec;
};

struct cupti_subscriber {
	size_t bytes;
	const char *name;
	char *taken_by; /* out: the tool that is subscribed */
	size_t taken_bytes;
};

struct cupti_um_counter {
	uint32_t scope, kind, device, on;
};

typedef void cupti_callback(void *data, int domain, uint32_t id, const void *info);
typedef void cupti_buffer_requested(uint8_t **buffer, size_t *bytes, size_t *max_records);
typedef void cupti_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
				    size_t valid);
typedef uint64_t cupti_timestamp(void);

/* Functions of the loaded libcupti; NULL: this version lacks the function. */
struct cupti {
#define CUPTI(needed, name, parameters) int(*name) parameters;
#include "preload/cupti/functions.def"
#undef CUPTI
};

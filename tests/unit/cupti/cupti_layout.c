/*
 * cupti_layout - where the fields of CUPTI's records are, compared with the newest of NVIDIA's headers that are known
 * (build/toolkits, where PyPI can be reached), which still have the older structures. scripts/gpu_cupti.py compares with
 * every version.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "preload/cupti/api.h"

#if __has_include(<cupti.h>) && __has_include(<cuda.h>)
#include <cuda.h>
#include <cupti.h>
#endif

#if defined(CUPTI_API_VERSION) && CUPTI_API_VERSION >= 130500

/* The first and the last structure of each shape. Fields in between are in the last one, or it would not be that. */
#define OLDEST_API      CUpti_ActivityAPI
#define OLDEST_KERNEL   CUpti_ActivityKernel6
#define OLDEST_MEMCPY   CUpti_ActivityMemcpy4
#define OLDEST_PEER     CUpti_ActivityMemcpyPtoP3
#define OLDEST_MEMSET   CUpti_ActivityMemset3
#define OLDEST_SYNC     CUpti_ActivitySynchronization
#define OLDEST_EVENT    CUpti_ActivityCudaEvent
#define OLDEST_MEMORY   CUpti_ActivityMemory2
#define OLDEST_POOL     CUpti_ActivityMemoryPool
#define OLDEST_OVERHEAD CUpti_ActivityOverhead
#define OLDEST_UM       CUpti_ActivityUnifiedMemoryCounter2
#define OLDEST_DEVICE   CUpti_ActivityDevice2
#define OLDEST_CONTEXT  CUpti_ActivityContext
#define OLDEST_STREAM   CUpti_ActivityStream
#define NEWEST_API      CUpti_ActivityAPI
#define NEWEST_KERNEL   CUpti_ActivityKernel13
#define NEWEST_MEMCPY   CUpti_ActivityMemcpy7
#define NEWEST_PEER     CUpti_ActivityMemcpyPtoP4
#define NEWEST_MEMSET   CUpti_ActivityMemset5
#define NEWEST_SYNC     CUpti_ActivitySynchronization2
#define NEWEST_EVENT    CUpti_ActivityCudaEvent3
#define NEWEST_GRAPH    CUpti_ActivityGraphTrace2
#define NEWEST_MEMORY   CUpti_ActivityMemory4
#define NEWEST_POOL     CUpti_ActivityMemoryPool3
#define NEWEST_OVERHEAD CUpti_ActivityOverhead3
#define NEWEST_JIT      CUpti_ActivityJit2
#define NEWEST_UM       CUpti_ActivityUnifiedMemoryCounter3
#define NEWEST_DEVICE   CUpti_ActivityDevice6
#define NEWEST_CONTEXT  CUpti_ActivityContext4
#define NEWEST_STREAM   CUpti_ActivityStream
#define NEWEST_GREEN    CUpti_ActivityGreenContext3

/* Where a field is and how wide, by the headers and by the table. */
struct place {
	const char *name;
	size_t offset, bytes, want_offset, want_bytes;
};
#define PLACE(type, member, at, size) \
	{#type "." #member, offsetof(type, member), sizeof(((type *)0)->member), at, size},

static void compare(const struct place *p, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++, p++)
		if (p->offset != p->want_offset || p->bytes != p->want_bytes)
			fail_msg("%s: at %zu, %zu bytes, not at %zu, %zu", p->name, p->offset,
				 p->bytes, p->want_offset, p->want_bytes);
}

static void fields_lie_where_the_table_has_them(void **state)
{
	static const struct place places[] = {
#define FIELD(shape, field, offset, bytes, version, member) \
	PLACE(NEWEST_##shape, member, offset, bytes)
#include "preload/cupti/layout.def"
	};

	(void)state;
	compare(places, sizeof(places) / sizeof(*places));
}

#define FIELD_15(shape, member, at, size) PLACE(OLDEST_##shape, member, at, size)
#define FIELD_17(shape, member, at, size)
#define FIELD_18(shape, member, at, size)
#define FIELD_21(shape, member, at, size)
#define FIELD_22(shape, member, at, size)
#define FIELD_26(shape, member, at, size)
#define FIELD_130200(shape, member, at, size)

static void older_structures_are_the_same_up_to_their_end(void **state)
{
	static const struct place places[] = {
#define FIELD(shape, field, offset, bytes, version, member) \
	FIELD_##version(shape, member, offset, bytes)
#include "preload/cupti/layout.def"
	};

	(void)state;
	compare(places, sizeof(places) / sizeof(*places));
}

static void structures_have_the_sizes_of_their_versions(void **state)
{
	(void)state;
#define STRUCT(shape, version, bytes, name) assert_int_equal(sizeof(CUpti_Activity##name), bytes);
#include "preload/cupti/layout.def"
}

static void kinds_and_numbers_are_right(void **state)
{
	(void)state;
#define KIND(name, number, version, shape, flag) \
	assert_int_equal(CUPTI_ACTIVITY_KIND_##name, number);
#include "preload/cupti/layout.def"
#define QUERY(domain, id, name) assert_int_equal(CUPTI_##domain##_TRACE_CBID_##name, id);
#include "preload/cupti/queries.def"
	assert_int_equal(CUPTI_ERROR_NOT_INITIALIZED, CUPTI_NOT_INITIALIZED);
	assert_int_equal(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, CUPTI_TAKEN);
	assert_int_equal(CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, CUPTI_MIG);
	assert_int_equal(CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, CUPTI_WSL);
	assert_int_equal(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, CUPTI_INSUFFICIENT_PRIVILEGES);
	assert_int_equal(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, CUPTI_ATTRIBUTE_ZEROED);
	assert_int_equal(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, CUPTI_FLUSH_FORCED);
	assert_int_equal(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_DOMAIN_RESOURCE);
	assert_int_equal(CUPTI_CBID_RESOURCE_GRAPH_CREATED, CUPTI_RESOURCE_GRAPH_CREATED);
	assert_int_equal(CUPTI_CBID_RESOURCE_GRAPH_CLONED, CUPTI_RESOURCE_GRAPH_CLONED);
	assert_int_equal(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_RESOURCE_NODE_CREATED);
	assert_int_equal(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, CUPTI_RESOURCE_EXEC_CREATED);
	assert_int_equal(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, CUPTI_RESOURCE_NODE_CLONED);
	assert_int_equal(CUPTI_ACTIVITY_OBJECT_THREAD, CUPTI_OBJECT_THREAD);
	assert_int_equal(CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED, CUPTI_POOL_IMPORTED);
}

static void what_callbacks_get_is_laid_out_alike(void **state)
{
	(void)state;
	assert_int_equal(offsetof(CUpti_ResourceData, resourceDescriptor),
			 offsetof(struct cupti_resource_data, descriptor));
	assert_int_equal(sizeof(CUpti_GraphData), sizeof(struct cupti_graph_data));
	assert_int_equal(offsetof(CUpti_GraphData, originalGraph),
			 offsetof(struct cupti_graph_data, original_graph));
	assert_int_equal(offsetof(CUpti_GraphData, node), offsetof(struct cupti_graph_data, node));
	assert_int_equal(offsetof(CUpti_GraphData, originalNode),
			 offsetof(struct cupti_graph_data, original_node));
	assert_int_equal(offsetof(CUpti_GraphData, graphExec),
			 offsetof(struct cupti_graph_data, exec));
	/* It names its size, and ends with oldSubscriberSize before CUDA 13.2. */
	assert_int_equal(offsetof(CUpti_SubscriberParams, oldSubscriberSize) + sizeof(size_t),
			 sizeof(struct cupti_subscriber));
	assert_int_equal(offsetof(CUpti_SubscriberParams, structSize),
			 offsetof(struct cupti_subscriber, bytes));
	assert_int_equal(offsetof(CUpti_SubscriberParams, oldSubscriberName),
			 offsetof(struct cupti_subscriber, taken_by));
	assert_int_equal(CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN, CUPTI_SUBSCRIBER_NAME);
	assert_int_equal(sizeof(CUpti_ActivityUnifiedMemoryCounterConfig),
			 sizeof(struct cupti_um_counter));
	assert_int_equal(offsetof(CUpti_ActivityUnifiedMemoryCounterConfig, enable),
			 offsetof(struct cupti_um_counter, on));
}

#endif

/* Every field is inside the structure of its version, and beyond the one before it. */
static void table_is_sound(void **state)
{
	static const struct {
		const char *shape;
		uint32_t version, bytes;
	} structs[] = {
#define STRUCT(shape, version, bytes, name) {#shape, version, bytes},
#include "preload/cupti/layout.def"
	};
	static const struct {
		const char *shape, *name;
		uint32_t version, end;
	} fields[] = {
#define FIELD(shape, field, offset, bytes, version, member) \
	{#shape, #field, version, (offset) + (bytes)},
#include "preload/cupti/layout.def"
	};
	size_t found = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(structs) / sizeof(*structs); i++)
		for (size_t j = 0; j < sizeof(fields) / sizeof(*fields); j++) {
			if (strcmp(structs[i].shape, fields[j].shape) != 0)
				continue;
			found++;
			/* One version may have two sizes. */
			if (structs[i].version == fields[j].version &&
			    fields[j].end > structs[i].bytes &&
			    i + 1 < sizeof(structs) / sizeof(*structs) &&
			    structs[i + 1].version == structs[i].version &&
			    fields[j].end <= structs[i + 1].bytes)
				continue;
			if ((structs[i].version >= fields[j].version) !=
			    (fields[j].end <= structs[i].bytes))
				fail_msg("%s.%s and version %u", fields[j].shape, fields[j].name,
					 structs[i].version);
		}
	assert_true(found >= sizeof(fields) / sizeof(*fields));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_is_sound),
#if defined(CUPTI_API_VERSION) && CUPTI_API_VERSION >= 130500
		cmocka_unit_test(fields_lie_where_the_table_has_them),
		cmocka_unit_test(older_structures_are_the_same_up_to_their_end),
		cmocka_unit_test(structures_have_the_sizes_of_their_versions),
		cmocka_unit_test(kinds_and_numbers_are_right),
		cmocka_unit_test(what_callbacks_get_is_laid_out_alike),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

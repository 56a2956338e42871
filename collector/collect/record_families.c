/* record_families.c - the record families in their order, the shapes that each takes, and loops over them. */
#include "collector/collect/record_families.h"

#include "collector/decode/gpu/gpu.h"
#include "collector/decode/nvtx/nvtx.h"
#include "collector/decode/osrt_rows.h"
#include "collector/model/stacks.h"
#include "collector/model/strings.h"

const struct record_families record_families = {
	.list = {&string_records, &stack_records, &osrt_records, &nvtx_records, &gpu_records},
	.by_shape =
		{
			[SL_SHAPE_CALL... SL_SHAPE_META] = &osrt_records,
			[SL_SHAPE_API] = &gpu_records,
			[SL_SHAPE_NVTX] = &nvtx_records,
			[SL_SHAPE_GPU] = &gpu_records,
			[SHAPE_STACK] = &stack_records,
		},
};

void families_thread_begin(struct arenas *as, const struct image *im)
{
	for (unsigned i = 0; i < RECORD_FAMILIES; i++)
		if (record_families.list[i]->thread_begin)
			record_families.list[i]->thread_begin(as, im);
}

void families_thread_end(struct arenas *as, struct thread *t, int64_t ns)
{
	for (unsigned i = 0; i < RECORD_FAMILIES; i++)
		if (record_families.list[i]->thread_end)
			record_families.list[i]->thread_end(as, t, ns);
}

void families_settle(struct arenas *as, struct arena *a, bool all)
{
	for (unsigned i = 0; i < RECORD_FAMILIES; i++)
		if (record_families.list[i]->settle)
			record_families.list[i]->settle(as, a, all);
}

int families_save(struct arenas *as, struct arena *a)
{
	int err = 0;

	for (unsigned i = 0; i < RECORD_FAMILIES && !err; i++)
		if (record_families.list[i]->save)
			err = record_families.list[i]->save(as, a);
	return err;
}

void families_restore(struct arenas *as, struct arena *a)
{
	for (unsigned i = 0; i < RECORD_FAMILIES; i++)
		if (record_families.list[i]->restore)
			record_families.list[i]->restore(as, a);
}

void families_committed(struct arena *a)
{
	for (unsigned i = 0; i < RECORD_FAMILIES; i++)
		if (record_families.list[i]->committed)
			record_families.list[i]->committed(a);
}

void families_lost(struct arenas *as, struct arena *a)
{
	for (unsigned i = 0; i < RECORD_FAMILIES; i++)
		if (record_families.list[i]->lost)
			record_families.list[i]->lost(as, a);
}

void families_cut(struct arenas *as, struct arena *a, int64_t end)
{
	for (unsigned i = 0; i < RECORD_FAMILIES; i++)
		if (record_families.list[i]->cut)
			record_families.list[i]->cut(as, a, end);
}

void families_rotate(struct arena *a, int64_t shift)
{
	for (unsigned i = 0; i < RECORD_FAMILIES; i++)
		if (record_families.list[i]->rotate)
			record_families.list[i]->rotate(a, shift);
}

void families_release(struct arenas *as, struct arena *a)
{
	for (unsigned i = RECORD_FAMILIES; i-- > 0;)
		if (record_families.list[i]->release)
			record_families.list[i]->release(as, a);
}

/* thread_room.c - maps the blocks of thread_room.h. Runs inside the program's calls: rules as in hook.c. */
#include "preload/core/thread_room.h"

#include <string.h>

#include "preload/base/table.h"

#define BLOCK ((unsigned)SL_SLOT_CNT / (unsigned)SL_TABLE_ROOM_BLOCKS)

static struct sl_thread_room *room_of(const struct sl_slot *slot, bool make)
{
	unsigned index = (unsigned)(slot - sl_global.arena->slot);
	enum sl_table which = (enum sl_table)(SL_TABLE_ROOMS + index / BLOCK);
	struct sl_thread_room *block;

	/* Of an earlier session. */
	if (index >= SL_SLOT_CNT)
		return NULL;
	block = make ? sl_table(which, BLOCK * sizeof(*block)) : sl_table_known(which);
	return block ? block + index % BLOCK : NULL;
}

struct sl_thread_room *sl_thread_room_map(void)
{
	return sl_tls.room = room_of(sl_tls.slot, true);
}

void sl_thread_room_start(const struct sl_thread_room *parent)
{
	struct sl_thread_room *room = room_of(sl_tls.slot, parent != NULL);

	/* Where the block is not mapped yet, it will be filled with zeros. */
	if (!room || room == parent)
		return;
	if (parent)
		memcpy(room->nvtx, parent->nvtx, sizeof(room->nvtx));
	else
		memset(room->nvtx, 0, sizeof(room->nvtx));
	sl_tls.room = room;
}

/* db_stacks_finish.c - the names of stacks, when the report is finished. Not yet: stacks stay raw. */
#include "collector/db_stacks.h"

int db_stacks_finish(struct db *db)
{
	(void)db;
	return 0;
}

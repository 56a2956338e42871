/* db_stack_kinds.c - the tables of each kind of rows that name stacks. */
#include "collector/report/db_stack_kinds.h"

#include <string.h>

static const struct {
	const char *column, *table[NAMING_TABLES];
} KINDS[NAMING_KINDS] = {
	[DB_STACK_OSRT] = {"callchainId", {"OSRT_API"}},
	[DB_STACK_CUDA] = {"callchainId",
			   {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUBLAS_EVENTS", "CUDNN_EVENTS",
			    "SL_LIBRARY_API"}},
	[DB_STACK_SYSCALL] = {"callchainId", {"SYSCALL"}},
	[DB_STACK_SAMPLE] = {"stackId", {"COMPOSITE_EVENTS", "SL_PAGE_FAULTS", "SL_DEATHS"}},
};

const char *naming_table(unsigned kind, unsigned table)
{
	return table < NAMING_TABLES ? KINDS[kind].table[table] : NULL;
}

const char *naming_column(unsigned kind)
{
	return KINDS[kind].column;
}

const char *naming_column_of(const char *table)
{
	const char *name;

	for (unsigned kind = 0; kind < NAMING_KINDS; kind++)
		for (unsigned i = 0; (name = naming_table(kind, i)); i++)
			if (!strcmp(name, table))
				return KINDS[kind].column;
	return NULL;
}

/* db_stack_kinds.h - rows that name stacks are of a few kinds (enum db_stack_kind); some have several tables. */
#pragma once

#include "collector/report/db_stacks.h"

#define NAMING_KINDS  DB_STACK_KIND_CNT
#define NAMING_TABLES 4

/* Name of table number @table of the kind, from 0 on; NULL: the kind has fewer. */
const char *naming_table(unsigned kind, unsigned table);
/* The column of a kind's tables that names a stack. */
const char *naming_column(unsigned kind);
/* The column of @table that names a stack; NULL: it has none. */
const char *naming_column_of(const char *table);

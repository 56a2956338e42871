/*
 * steps.h - the table sl_steps(range): the ranges that are the steps of a program, as lib/step_ranges.sql describes them.
 *
 * Reports have millions of ranges with few names: each name is looked at once, and ranges are numbers from there on.
 */
#pragma once

#include <sqlite3.h>

/* Once per connection, with sweeps_register(). SQLite's result code. */
int steps_register(sqlite3 *db);

/* plain_sqlite.h - keeps SQLite from opening pipes and devices. */
#pragma once

/*
 * From now on SQLite opens plain files alone, of databases and of what lies beside them: a pipe that is called REPORT-journal would
 * hold up each command that reads the report.
 */
void plain_files_for_sqlite(void);

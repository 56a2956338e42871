/*
 * cmd_finish.c - the process that completes a report while its collector goes on with the next one (capture_report.c).
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/report/db.h"

int cmd_finish(int argc, char **argv)
{
	char why[1024] = "";
	struct db_open how = {.resume = true};
	struct db *db;

	if (argc != 3) {
		sl_warn("finish is started by a collector; use 'sightline recover'");
		return SL_EXIT_USAGE;
	}
	how.path = argv[1];
	db = db_open(&how, why, sizeof(why));
	if (!db) {
		sl_warn("%s", why);
		return SL_EXIT_FAIL;
	}
	return db_finish(db, strtoll(argv[2], NULL, 10)) ? SL_EXIT_FAIL : 0;
}

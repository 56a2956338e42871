/* sql.h - the permissions of a statement from the page. */
#pragma once

/* For sqlite3_set_authorizer(): reading, and functions without effects. */
int view_sql_authorize(void *unused, int action, const char *a, const char *b, const char *c,
		       const char *d);

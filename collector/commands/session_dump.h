/* session_dump.h - sightline dump of a session, or of all sessions of a job. */
#pragma once

/* NULL: not given. An exit status, after one line about what failed. */
int session_dump(const char *session, const char *dataset, const char *run);

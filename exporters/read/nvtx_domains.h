/*
 * nvtx_domains.h - the names of NVTX domains:
 *
 *   SL_NVTX_DOMAINS(process, domain, name)
 *
 * is a view of the events that name them. process: globalTid >> 24; domain: domainId, unique within a process. The domain without
 * a number (0 or NULL) has no name.
 */
#pragma once

#include <sqlite3.h>

/* Adds the view, once per connection. SQLite's result code. */
int nvtx_domains_register(sqlite3 *db);

/* sample_mapped.h - lines of /proc/PID/maps. */
#pragma once

#include <stdbool.h>

#include "collector/kernel/sample/sample_files.h"

/* A line of /proc/PID/maps, which it cuts up; false: it is none. */
bool sample_mapped_parse(char *line, struct sample_mapped *what);

/* checks.h - states that a complete report must never have: each is a defect of the collector, not of the program. */
#pragma once

#include <stdbool.h>

struct collector;

/* After the last commit of rows. @is_whole: all processes of the tree have ended. Counts and reports the defects. */
void checks_end(struct collector *c, bool is_whole);

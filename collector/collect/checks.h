/* checks.h - what a complete report must not have, whatever the program did: each is a defect of the collector. */
#pragma once

#include <stdbool.h>

struct collector;

/* After the last commit of rows. @is_whole: all processes of the tree have ended. Counts and reports what is wrong. */
void checks_end(struct collector *c, bool is_whole);

/* known_bad.h - bugs of released versions of CUPTI, by the version that is loaded: known_bad.def. */
#pragma once

#include <stdbool.h>

enum known_bad {
#define BAD(name, from, to, avoided, source) BAD_##name,
#include "preload/cupti/known_bad.def"
	BAD_CNT
};

/* True: the loaded CUPTI has the bug. */
bool known_bad(enum known_bad bug);

/* Reports what is avoided, once per process. No-op where the loaded CUPTI lacks the bug. */
void known_bad_note(enum known_bad bug);

/* The same for a bug that cannot be avoided: a warning. */
void known_bad_warn(enum known_bad bug);

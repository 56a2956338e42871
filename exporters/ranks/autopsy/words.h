/* words.h - the sentences of an autopsy, in text and on the page; names are escaped by the writer that is passed. */
#pragma once

#include "exporters/ranks/autopsy/autopsy.h"

/* Writes a name, as fits the place. */
typedef void words_name(FILE *out, const char *text);

/* "segv (deaths.c:83)"; nothing where no line is known. */
void words_place(FILE *out, const struct autopsy_rank *r, words_name *name);
/* "killed by signal 15 (SIGTERM) at reduce (deaths.c:50), 3.1 s after the start of the run" */
void words_end(FILE *out, const struct autopsy *a, const struct autopsy_rank *r, words_name *name);
/* Is it known what the thread of the verdict waited for? */
bool words_have_wait(const struct autopsy_rank *r);
/* "thread 4711 was waiting in futex, for a lock that thread 17 has"; only where words_have_wait(). */
void words_wait(FILE *out, const struct autopsy_rank *r, words_name *name);
/* "AllReduce 100 on communicator 5f2c...: 3 of 4 ranks have joined it (0, 1, 3), and not rank 2" */
void words_stuck(FILE *out, const struct autopsy_stuck *s, words_name *name);
/* The reason for which the first rank is called the cause; a whole sentence. */
const char *words_reason(const struct autopsy *a);
/* "0 to 15, 17" */
void words_numbers(FILE *out, const struct autopsy_number *list, size_t cnt);
/* Ranks with the same end and place as this one, which are one line. */
bool words_alike(const struct autopsy_rank *x, const struct autopsy_rank *y);

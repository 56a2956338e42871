/* why_out.h - between the files that write the answer. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "exporters/why/answer/why.h"

struct writer;

#define WHY_TIME_MAX 24
#define WHY_SURE     0.9 /* confidence from which on the way to a line is called sure */

const char *why_time_text(int64_t ns, char buf[WHY_TIME_MAX]);
/* ", read of /data/x" */
void why_put_call(FILE *out, const struct why *y, const struct why_cause *c);

/* why_json_cause.c: members of an object; null where there is none. */
void why_put_json_place(struct writer *w, const struct why *y, uint32_t place);

/* why_json_cause.c: reason, call, object and place. */
void why_put_json_cause(struct writer *w, const struct why *y, const struct why_cause *c);

/* why_text.c: the processes that work while the root waits for them; the one that worked alone at the end. */
void why_put_busy(FILE *out, const struct why *y);
void why_put_tail(FILE *out, const struct why *y);

/* why_hangs.c: waits that never ended, deadlocks first; JSON: a member of the answer. */
void why_put_hangs(FILE *out, const struct why *y);
void why_put_json_hangs(struct writer *w, const struct why *y);

/* The same in parts: a sentence for each cycle; "waiting for a lock, futex at a.c:5 in f; thread 4 has it"; members owner and deadlock. */
void why_put_deadlocks(FILE *out, const struct why *y);
void why_put_hang(FILE *out, const struct why *y, const struct why_hang *g);
void why_put_json_owner(struct writer *w, const struct why *y, const struct why_hang *g);
/* "main thread", "thread 4711"; @buf of at least 64 bytes. */
const char *why_hang_name(const struct why *y, uint32_t thread, char *buf, size_t len);

/* why_runners.c: event loops that stand still, pools of one worker; JSON: two members of the answer. */
void why_put_runners(FILE *out, const struct why *y);
void why_put_json_runners(struct writer *w, const struct why *y);

/* why_gpu_text.c: a line for each GPU, and the way to the main cause of its idle time. */
void why_put_gpus(FILE *out, const struct why *y);
const char *why_sure_text(double sure);

/* why_text.c: a line with the command that opens the timeline where a culprit takes its time longest at once. */
void why_put_view(FILE *out, const struct why *y, const struct why_culprit *c, const char *report);

/* why_gains.c: gains; JSON: a member of the answer. */
void why_put_gains(FILE *out, const struct why *y, bool is_brief);
void why_put_json_gains(struct writer *w, const struct why *y);

/* why_notes.c: a line for each missing kind of events, with the reason and the option that records it. */
void why_put_notes(FILE *out, const struct why *y);
/* Does the @r-th of the reasons, most time first, have a line? Then all before it have one. */
bool why_shows_reason(const struct why *y, unsigned r);
/* The part of a reason with most time; NULL: the part has no line. */
const struct why_part *why_shown_part(const struct why *y, uint32_t reason);

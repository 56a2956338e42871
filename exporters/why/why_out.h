/* why_out.h - between the files that write the answer. */
#pragma once

#include <stdio.h>

#include "exporters/why/why.h"

#define WHY_TIME_MAX 24

const char *why_time_text(int64_t ns, char buf[WHY_TIME_MAX]);
void why_put_place(FILE *out, const struct why *y, uint32_t place);
/* ", read of /data/x" */
void why_put_call(FILE *out, const struct why *y, const struct why_cause *c);

/* why_gpu_text.c: a line for each GPU, and the way to what it waited for most. */
void why_put_gpus(FILE *out, const struct why *y);
const char *why_sure_text(double sure);

/* why_gains.c: what could be won; JSON: a member of the answer. */
void why_put_gains(FILE *out, const struct why *y, bool is_brief);
void why_put_json_gains(FILE *out, const struct why *y);

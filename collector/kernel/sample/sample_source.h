/* sample_source.h - CPU samples and stacks of threads without a CPU, as a source of events. */
#pragma once

#include "collector/kernel/sample/sample_sink.h"

struct recording;
struct event_source;

extern const struct event_source sample_source;

/* The report that is being written, to write samples into; and once it is done. */
struct sample_report sample_report_of(const struct recording *r);
void sample_report_written(struct recording *r, const struct sample_report *report);

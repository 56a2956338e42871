/* checks.c - contradictions in the process tree: a diagnostic, and their number in META_DATA_CAPTURE. */
#include "collector/collect/checks.h"

#include <stdio.h>

#include "collector/collect/collector.h"
#include "collector/collect/notes.h"
#include "collector/kernel/sched/sched.h"

/* From eBPF; events that the kernel lost may have been any. */
static bool has_all_exits(const struct collector *c)
{
	return c->recording.sched && sched_backend(c->recording.sched) == SCHED_BACKEND_BPF &&
	       !sched_lost(c->recording.sched);
}

void checks_end(struct collector *c, bool is_whole)
{
	uint64_t statusless = has_all_exits(c) ? model_statusless(&c->model) : 0,
		 outlived = c->arenas.ever.outlived, all;
	struct db_tree_faults tree;
	char text[24];

	if (db_tree_faults(c->report.db, &tree))
		return;
	if (!is_whole || c->model.counts.alive)
		tree.endless = 0;
	all = (uint64_t)tree.backward + (uint64_t)tree.endless + statusless + outlived;
	if (!all)
		return;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)all);
	db_meta_capture(c->report.db, "SL_CONTRADICTIONS", text);
	notes_say(c, 2,
		  "the process tree contradicts itself: %llu images end before they begin, %llu "
		  "have no end, %llu processes have no exit status, %llu threads have calls after "
		  "the end of their image; please report this",
		  (unsigned long long)tree.backward, (unsigned long long)tree.endless,
		  (unsigned long long)statusless, (unsigned long long)outlived);
}

/* event_scope.h - whose events are recorded: an option, and what the event sources go by. */
#pragma once

enum sched_mode {
	SCHED_MODE_NONE,
	SCHED_MODE_TREE,
	SCHED_MODE_SYSTEM
};

/* event_scope.h - whose events are recorded: an option, and the scope for event sources. */
#pragma once

enum sched_mode {
	SCHED_MODE_NONE,
	SCHED_MODE_TREE,
	SCHED_MODE_SYSTEM
};

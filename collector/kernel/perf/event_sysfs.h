/*
 * event_sysfs.h - events that the driver of a PMU lists: files like cpu/events/NAME, which hold "event=0x3c,umask=0x1",
 * and cpu/format/event, which holds the bits of that word, "config:0-7,32-35".
 */
#pragma once

#include "collector/kernel/perf/event_list.h"

/* Adds events of the CPUs' own PMUs, in the order of their names, except names already in the list. 0 or -ENOMEM. */
int event_sysfs_add(struct event_list *l, const char *sysfs);

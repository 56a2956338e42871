/*
 * ring_reader.h - questions about the rings of an arena that are answered without draining them: names in records that
 * are not drained yet, how far the rings are drained, which losses are not reported yet.
 */
#pragma once

#include "collector/model/arena.h"

/*
 * Scans all records that are not drained yet and keeps the names and descriptions in them: a file,
 * a string or a stack may have been introduced by another thread. At most once per drain round.
 */
void ring_prescan(struct arena *a);

/* Ticks: all records that the arena's threads had written by then are drained. */
uint64_t ring_read_to(const struct arena *a);

/* Losses for which there is neither a row nor a record yet. */
uint64_t ring_open_losses(const struct arena *a);

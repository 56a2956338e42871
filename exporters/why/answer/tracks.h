/* tracks.h - the walk in the order of time, as tracks of a timeline: of the focus thread, and of each GPU. */
#pragma once

#include "collector/base/slots.h"
#include "exporters/timeline/timeline.h"
#include "exporters/why/answer/why.h"

struct why_tracks {
	struct tl_made made;
	struct why y;
	struct why_track_kind *of_kind;
	struct slots by_kind;
	size_t of_kind_room;
	int64_t at; /* how far the walk is */
	bool is_gpu, is_short;
};

/*
 * @f as why_run() has it. Slices cover exactly the time that sightline why explains; a report without a thread to explain
 * has no tracks. 0, or -1 after one sentence in @text; why_tracks_free() in both cases, before @db is closed.
 */
int why_tracks_make(struct why_tracks *t, sqlite3 *db, const struct db_filter *f, char *text,
		    size_t len);
void why_tracks_free(struct why_tracks *t);

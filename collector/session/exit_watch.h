/* exit_watch.h - wakes the collector when its program has run its destructors: what can be done then need not wait for a look. */
#ifndef SL_LEAVING_H
#define SL_LEAVING_H

#include "collector/base/task.h"
#include "preload/wire/session.h"

struct leaving {
	struct sl_session *control; /* NULL: nobody watches */
	struct aside aside;
	int event; /* readable when it may be so */
};

/* Best effort: without it, whoever looks finds it out a little later. 0 or -errno; then @l needs no leaving_end(). */
int leaving_begin(struct leaving *l, struct sl_session *control);

/* After l->event was readable. */
void leaving_seen(struct leaving *l);

/* Also for one that was never begun, where @l is all zero. */
void leaving_end(struct leaving *l);

#endif

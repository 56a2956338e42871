/* flames.h - stacks in a span as a tree. */
#pragma once

#include "exporters/view/answers/body.h"
#include "exporters/view/answers/answer.h"

/* Samples of the lanes' threads, of all threads where there are no lanes; time in calls where there are no samples. */
void view_put_flame(struct view_request *q, struct view_reply *a, const struct view_span *span);

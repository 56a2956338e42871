/* route.h - from a message to the function that answers it: route.c has the table of messages. */
#pragma once

#include "exporters/view/answers/answer.h"

void view_route(struct view_request *q, struct view_reply *a);

/* title.h - the command that ps shows. */
#pragma once

/* Of a fork, which has its parent's: @title in its place, and no environment. */
void title_set(const char *title);

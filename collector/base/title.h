/* title.h - the command that ps shows. */
#pragma once

/* Replaces the title that a fork has from its parent by @title, and drops its environment. */
void title_set(const char *title);

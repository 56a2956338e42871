/* fold.h - names that differ in numbers alone: "aten::copy_, op_id = 17" is "aten::copy_, op_id = #", as sightline compare has it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define VIEW_FOLD_MAX 512

/* Writes the folded name, of at most VIEW_FOLD_MAX - 1 bytes. False: no number was folded, or the name is too long. */
bool view_fold(const char *text, size_t len, char to[VIEW_FOLD_MAX], size_t *to_len);

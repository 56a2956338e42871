/* fold.c - numbers behind "= " as #. */
#include <ctype.h>

#include "exporters/view/answers/fold.h"

bool view_fold(const char *text, size_t len, char to[VIEW_FOLD_MAX], size_t *to_len)
{
	size_t out = 0;
	bool is_folded = false;

	for (size_t i = 0; i < len && out + 1 < VIEW_FOLD_MAX; i++) {
		size_t k = i + (text[i] == '-');

		to[out++] = text[i];
		if (i < 2 || text[i - 1] != ' ' || text[i - 2] != '=' || k >= len ||
		    !isdigit((unsigned char)text[k]))
			continue;
		while (k < len && isdigit((unsigned char)text[k]))
			k++;
		to[out - 1] = '#';
		i = k - 1;
		is_folded = true;
	}
	*to_len = out;
	return is_folded && len < VIEW_FOLD_MAX;
}

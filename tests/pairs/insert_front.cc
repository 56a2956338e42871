/* A text is put together from its end; the time is in functions of the library's headers. reason: COMPUTE */
#include <algorithm>
#include <string>

#include "pair.h"

static std::string digits(size_t len, bool bad)
{
	std::string text;

	for (size_t i = 0; i < len; i++)
		if (bad)
			text.insert(text.begin(), (char)('0' + i % 10)); /* CULPRIT */
		else
			text.push_back((char)('0' + i % 10));
	if (!bad)
		std::reverse(text.begin(), text.end());
	return text;
}

int main(int argc, char **argv)
{
	size_t sum = 0;

	for (int i = 0; i < 12; i++)
		sum += (size_t)digits(50000, is_bad(argc, argv))[i];
	printf("%zu\n", sum);
	return 0;
}

/* The length of a text is computed in each step of a loop over it. reason: COMPUTE */
#include "pair.h"

static size_t (*volatile length)(const char *) = strlen;

static long vowels(const char *text, bool bad)
{
	size_t len = length(text);
	long n = 0;

	for (size_t i = 0; i < (bad ? length(text) : len); i++) /* CULPRIT */
		n += text[i] == 'a';
	return n;
}

int main(int argc, char **argv)
{
	size_t len = 60000;
	char *text = malloc(len + 1);

	memset(text, 'a', len);
	text[len] = 0;
	printf("%ld\n", vowels(text, is_bad(argc, argv)));
	return 0;
}

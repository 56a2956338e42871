/* The same block is compressed again and again, by a library of the system that has no lines. reason: COMPUTE */
#include <dlfcn.h>

#include "pair.h"

typedef int pack_fn(unsigned char *to, unsigned long *len, const unsigned char *from,
		    unsigned long from_len, int level);

static unsigned char block[1 << 18], packed[1 << 19];

static unsigned long pack(pack_fn *compress2)
{
	unsigned long len = sizeof(packed);

	if (compress2)
		compress2(packed, &len, block, sizeof(block), 9); /* CULPRIT */
	return len;
}

int main(int argc, char **argv)
{
	void *z = dlopen("libz.so.1", RTLD_NOW);
	pack_fn *compress2 = z ? (pack_fn *)dlsym(z, "compress2") : NULL;
	unsigned long last = 0, sum = 0;

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (unsigned char)("abcdefghij"[i * i / 7 % 10]);
	for (int i = 0; i < 250; i++) {
		if (!last || is_bad(argc, argv))
			last = pack(compress2);
		sum += last;
	}
	printf("%lu\n", sum);
	return 0;
}

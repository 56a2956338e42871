/* Each step computes the same table before it works on the GPU. reason: COMPUTE */
#include "gpu_pair.h"

/* A call of its own each time. */
__attribute__((noinline, noipa)) static unsigned table(unsigned steps)
{
	unsigned sum = 1;

	for (unsigned i = 0; i < steps; i++)
		sum = sum * 1664525 + (sum >> 7 ^ i); /* CULPRIT */
	return sum;
}

int main(int argc, char **argv)
{
	bool bad = is_bad(argc, argv);
	unsigned value, sum = 0;
	stream_t s;

	gpu_begin();
	s = new_stream();
	value = table(6000000);
	for (int i = 0; i < 25; i++) {
		if (bad && i)
			value = table(6000000);
		sum += value;
		LAUNCH(US_500, s);
		DO(cudaStreamSynchronize(s));
	}
	printf("%u\n", sum);
	return 0;
}

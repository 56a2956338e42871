/* Each step waits for its data, and the GPU for the step. reason: SLEEP */
#include "gpu_pair.h"

static bool bad;

static int load(int step)
{
	if (bad)
		wait_ms(12); /* CULPRIT */
	return step;
}

int main(int argc, char **argv)
{
	long sum = 0;
	stream_t s;

	bad = is_bad(argc, argv);
	gpu_begin();
	s = new_stream();
	for (int i = 0; i < 30; i++) {
		sum += load(i);
		LAUNCH(US_2000, s);
		DO(cudaStreamSynchronize(s));
	}
	printf("%ld\n", sum);
	return 0;
}

/* Four streams, one of which gets most of the work. reason: GPU_UNEVEN */
#include "gpu_pair.h"

int main(int argc, char **argv)
{
	bool bad = is_bad(argc, argv);
	stream_t s[4];

	gpu_begin();
	for (int i = 0; i < 4; i++)
		s[i] = new_stream();
	for (int step = 0; step < 50; step++)
		for (int n = 0; n < 16; n++)
			LAUNCH(US_500, s[bad && n < 10 ? 0 : n % 4]); /* CULPRIT */
	DO(cudaDeviceSynchronize());
	puts("800");
	return 0;
}

/* Work in pieces that are over before the next is launched. reason: GPU_CALL */
#include "gpu_pair.h"

int main(int argc, char **argv)
{
	bool bad = is_bad(argc, argv);
	stream_t s;

	gpu_begin();
	s = new_stream();
	for (int i = 0; i < 20; i++) {
		for (int k = 0; bad && k < 2000; k++)
			LAUNCH(US_1, s); /* CULPRIT */
		if (!bad)
			LAUNCH(US_2000, s);
	}
	DO(cudaStreamSynchronize(s));
	puts("20");
	return 0;
}

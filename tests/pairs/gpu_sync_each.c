/* A wait behind each kernel, where one at the end will do: the host could prepare the next meanwhile. reason: GPU_SYNC */
#include "gpu_pair.h"

static void prepare(void)
{
	wait_ms(1);
}

int main(int argc, char **argv)
{
	bool bad = is_bad(argc, argv);
	stream_t s;

	gpu_begin();
	s = new_stream();
	for (int i = 0; i < 150; i++) {
		LAUNCH(US_2000, s);
		if (bad)
			DO(cudaStreamSynchronize(s)); /* CULPRIT */
		prepare();
	}
	DO(cudaStreamSynchronize(s));
	puts("150");
	return 0;
}

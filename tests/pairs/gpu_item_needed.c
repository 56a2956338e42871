/* A value that each step needs of the GPU before the next begins: nothing to find. reason: GPU needed */
#include "gpu_pair.h"

int main(int argc, char **argv)
{
	bool bad = is_bad(argc, argv);
	char *device, *host;
	long sum = 0;
	stream_t s;

	(void)bad;
	gpu_begin();
	s = new_stream();
	device = on_gpu(64);
	host = pinned(64);
	for (int i = 0; i < 50; i++) {
		for (int k = 0; k < 5; k++)
			LAUNCH(US_2000, s);
		DO(cudaMemcpyAsync(host, device, 64, TO_HOST, s));
		DO(cudaStreamSynchronize(s));
		sum += host[0] > 100;
	}
	printf("%ld\n", sum);
	return 0;
}

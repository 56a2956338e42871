/* Copies of memory that the GPU cannot read by itself. reason: GPU_COPY */
#include "gpu_pair.h"

int main(int argc, char **argv)
{
	bool bad = is_bad(argc, argv);
	char *pages = memset(malloc(8 * MIB), 1, 8 * MIB), *locked, *device;
	stream_t s;

	gpu_begin();
	s = new_stream();
	locked = pinned(8 * MIB);
	device = on_gpu(8 * MIB);
	for (int i = 0; i < 80; i++) {
		COPY(device, bad ? pages : locked, 8 * MIB, s); /* CULPRIT */
		LAUNCH(US_500, s);
	}
	DO(cudaStreamSynchronize(s));
	puts("80");
	return 0;
}

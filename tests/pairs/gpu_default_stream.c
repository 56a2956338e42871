/* Copies in the stream of the kernels, where they could go beside them. reason: GPU_COPY */
#include "gpu_pair.h"

enum {
	ROWS = 64 * KIB /* 2 ms on the way, as long as a kernel takes */
};

int main(int argc, char **argv)
{
	bool bad = is_bad(argc, argv);
	char *host, *device;
	stream_t work, copies;

	gpu_begin();
	work = new_stream();
	copies = new_stream();
	host = pinned(ROWS * 32);
	device = on_gpu(ROWS * 16);
	for (int i = 0; i < 80; i++) {
		COPY_ROWS(device, host, ROWS, bad ? work : copies); /* CULPRIT */
		LAUNCH(US_2000, work);
	}
	DO(cudaDeviceSynchronize());
	puts("80");
	return 0;
}

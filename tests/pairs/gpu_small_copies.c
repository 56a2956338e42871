/* Rows copied one by one, where they could go as one block. reason: GPU_CALL */
#include "gpu_pair.h"

int main(int argc, char **argv)
{
	bool bad = is_bad(argc, argv);
	char *host, *device;
	stream_t s;

	gpu_begin();
	s = new_stream();
	host = pinned(MIB);
	device = on_gpu(MIB);
	for (int i = 0; i < 40; i++) {
		for (size_t at = 0; bad && at < MIB; at += KIB)
			COPY(device + at, host + at, KIB, s); /* CULPRIT */
		if (!bad)
			COPY(device, host, MIB, s);
		LAUNCH(US_500, s);
	}
	DO(cudaStreamSynchronize(s));
	puts("40");
	return 0;
}

/* A copy that waits for the GPU, where the host could go on. reason: GPU_SYNC */
#include "gpu_pair.h"

int main(int argc, char **argv)
{
	bool bad = is_bad(argc, argv);
	char *host, *device;

	gpu_begin();
	host = pinned(2 * MIB);
	device = on_gpu(2 * MIB);
	for (int i = 0; i < 120; i++) {
		LAUNCH(US_2000, NULL);
		if (bad)
			DO(cudaMemcpy(device, host, 2 * MIB, TO_DEVICE)); /* CULPRIT */
		else
			COPY(device, host, 2 * MIB, NULL);
		wait_ms(1);
	}
	DO(cudaDeviceSynchronize());
	puts("120");
	return 0;
}

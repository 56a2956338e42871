"""cupy_work.py: arrays, a user's kernel, streams, copies; says how often it launched its own kernel."""
import cupy
import numpy

SOURCE = 'extern "C" __global__ void cupy_own(float *p, int n) { int i = threadIdx.x; if (i < n) p[i] += 1; }'
own = cupy.RawKernel(SOURCE, "cupy_own")
a = cupy.asarray(numpy.arange(100000, dtype=numpy.float32))
with cupy.cuda.Stream(non_blocking=True) as stream:
    for _ in range(25):
        own((1,), (64,), (a, 64))
    stream.synchronize()
b = cupy.dot(a.reshape(100, 1000), a.reshape(1000, 100))
print("kernel cupy_own 25 0")
print("sum", float(a.sum()), float(b[0, 0]))

"""gpu_places.py - calls into CUDA and cuBLAS through ctypes; says what tests/gpu/places.c says."""
import ctypes
import sys

runtime, cuda, cublas = (ctypes.CDLL(name) for name in ("libcudart.so.13", "libcuda.so.1", "libcublas.so.13"))
memory, module, kernel, handle = (ctypes.c_void_p() for _ in range(4))
host, size, one = ctypes.create_string_buffer(1 << 20), ctypes.c_size_t(1 << 20), ctypes.c_float(1)
PTX = b".version 8.0\n.target sm_90\n.address_size 64\n"
ref = ctypes.byref
out = []


def call(what, name):
    caller = sys._getframe(1)
    out.append("call %s %s %s %d" % (what, name, caller.f_code.co_name, caller.f_lineno))


def gpu(ns):
    out.append("gpu %s %d" % (sys._getframe(1).f_code.co_name, ns))


def place_begin():
    assert not runtime.cudaMalloc(ref(memory), size); call("memory", "cudaMalloc")
    assert not cuda.cuModuleLoadData(ref(module), PTX); call("other", "cuModuleLoadData")
    assert not cuda.cuModuleGetFunction(ref(kernel), module, b"_Z10fast_us30_Pf"); call("other", "cuModuleGetFunction")
    assert not cublas.cublasCreate_v2(ref(handle)); call("other", "cublasCreate_v2"); call("memory", "cudaMalloc")


def place_forward():
    assert not cuda.cuLaunchKernel(kernel, 64, 1, 1, 128, 1, 1, 0, None, None, None); call("kernel", "cuLaunchKernel"); gpu(30000)


def place_gemm():
    assert not cublas.cublasSgemm_v2(handle, 0, 1, 128, 256, 64, ref(one), memory, 128, memory, 256, ref(one), memory, 128); call("other", "cublasSgemm_v2"); call("kernel", "cudaLaunchKernel"); gpu(40000)


def place_copy():
    assert not runtime.cudaMemcpy(memory, host, size, 1); call("memory", "cudaMemcpy"); gpu(262144)


def place_wait():
    assert not runtime.cudaDeviceSynchronize(); call("sync", "cudaDeviceSynchronize")


def place_end():
    assert not cublas.cublasDestroy_v2(handle); call("other", "cublasDestroy_v2"); call("memory", "cudaFree")
    assert not runtime.cudaFree(memory); call("memory", "cudaFree")


def step(n):
    place_copy()
    for _ in range(n):
        place_forward()
    place_gemm()
    place_wait()


place_begin()
for i in range(3):
    step(i)
place_end()
print("\n".join(out))

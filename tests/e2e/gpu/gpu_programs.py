#!/usr/bin/env python3
"""gpu_programs.py pycuda|numba|ctypes: what programs do with CUDA's driver from Python, each through its own way to it.

Says what it found, which is the same at each run. 77: the package is not there, or does not work here.
"""
import ctypes
import os
import sys

PTX = b"""
.version 8.0
.target sm_80 // a comment { ; }
.address_size 64
.visible .global .align 4 .b8 table[64];
.const .align 8 .f64 factors[2][3] = {{1, 2, 3}, {4, 5, 6}};
.func hidden() { ret; }
.visible .entry double_it(
	.param .u64 p0, .param .u32 p1)
{
	.reg .b32 %r<3>;
	{ ret; }
}
.visible .entry _Z7add_us9_Pf(.param .u64 p0) { ret; }
\0"""


def pycuda():
    import numpy as np
    import pycuda.autoinit as auto
    import pycuda.driver as cuda

    device = auto.device
    print(device.name(), device.compute_capability(), device.total_memory(), len(device.get_attributes()) > 50)
    module = cuda.module_from_buffer(PTX)
    kernel = module.get_function("double_it")
    print(kernel.num_regs, kernel.max_threads_per_block, module.get_global("table")[1], module.get_global("factors")[1])
    try:
        module.get_function("hidden")
    except cuda.Error as e:
        print(e)
    host = cuda.pagelocked_empty((64, 1000), np.float32)
    host[:] = 3
    device_memory = cuda.mem_alloc(host.nbytes)
    streams = cuda.Stream(), cuda.Stream()
    begin, end = cuda.Event(), cuda.Event()
    begin.record(streams[0])
    for _ in range(5):
        cuda.memcpy_htod_async(device_memory, host, streams[0])
        kernel(device_memory, np.int32(host.size), block=(128, 1, 1), grid=(500, 1), stream=streams[0])
        cuda.memcpy_dtoh_async(host, device_memory, streams[0])
    end.record(streams[0])
    streams[1].wait_for_event(end)
    cuda.memset_d32_async(device_memory, 7, 1000, streams[1])
    end.synchronize()
    print(begin.time_till(end) > 0, float(host.sum()))
    kernel.prepare("Pi")
    kernel.prepared_async_call((2, 2), (32, 1, 1), streams[1], device_memory, 5)
    streams[1].synchronize()
    array = cuda.np_to_array(np.ones((8, 16), np.float32), "C")
    print(array.get_descriptor().width, array.get_descriptor().height)
    pitched, pitch = cuda.mem_alloc_pitch(400, 10, 4)
    copy = cuda.Memcpy2D()
    copy.set_src_host(np.zeros((10, 100), np.float32))
    copy.set_dst_device(pitched)
    copy.src_pitch, copy.dst_pitch, copy.width_in_bytes, copy.height = 400, pitch, 400, 10
    copy(aligned=True)
    managed = cuda.managed_empty(100, np.float32, mem_flags=cuda.mem_attach_flags.GLOBAL)
    managed[:] = 2
    cuda.start_profiler()
    cuda.Context.synchronize()
    cuda.stop_profiler()
    print(float(managed.sum()), cuda.mem_get_info()[1])


def numba():
    import numpy as np
    from numba import cuda

    print(len(cuda.gpus), cuda.current_context().device.compute_capability)
    stream, begin, end = cuda.stream(), cuda.event(), cuda.event()
    host = np.arange(1 << 16, dtype=np.float32)
    begin.record(stream)
    there = cuda.to_device(host, stream=stream)
    pinned = cuda.pinned_array((1000,), dtype=np.float32)
    pinned[:] = 1
    cuda.to_device(pinned, stream=stream).copy_to_host(pinned, stream=stream)
    end.record(stream)
    end.synchronize()
    print(cuda.event_elapsed_time(begin, end) > 0, bool((there.copy_to_host() == host).all()))
    context = cuda.current_context()
    module = context.create_module_ptx(PTX.rstrip(b"\0"))
    kernel = module.get_function("double_it")
    cuda.driver.launch_kernel(kernel.handle, 4, 1, 1, 64, 1, 1, 0, stream.handle, [], cooperative=False)
    print(module.get_global_symbol("table")[1])
    with cuda.pinned(host):
        cuda.to_device(host)
    with cuda.profiling():
        cuda.synchronize()
    print(context.get_memory_info().total)


class Descriptor(ctypes.Structure):
    _fields_ = [("width", ctypes.c_size_t), ("height", ctypes.c_size_t), ("format", ctypes.c_int), ("channels", ctypes.c_uint)]


class Allocation(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("place", ctypes.c_int), ("device", ctypes.c_int)]
    _fields_ += [("rest", ctypes.c_char * 32)]


def by_ctypes():
    """What the others need and bindings of Python seldom use, by the names that the library exports."""
    driver = ctypes.CDLL("libcuda.so.1")
    pointer, size, number, byref = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.byref

    def do(name, *arguments, want=0):
        got = getattr(driver, name)(*arguments)
        if got != want:
            print(name, got, "not", want)

    def make(name, kind, *arguments):
        made = kind()
        do(name, byref(made), *arguments)
        return made

    def in_child(want):
        """The child of a fork may use the driver where its parent has not begun to."""
        child = os.fork()
        if not child:
            do("cuInit", 0, want=want)
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)

    in_child(0)
    do("cuInit", 0)
    in_child(3)
    make("cuCtxCreate_v2", pointer, 0, 0)
    # The linker, and what is in a module.
    link = pointer()
    do("cuLinkCreate_v2", 0, None, None, byref(link))
    do("cuLinkAddData_v2", link, 1, PTX, size(len(PTX)), b"part", 0, None, None)
    image, image_len = pointer(), size()
    do("cuLinkComplete", link, byref(image), byref(image_len))
    module = make("cuModuleLoadData", pointer, image)
    do("cuLinkDestroy", link)
    do("cuModuleGetFunction", byref(pointer()), module, b"hidden", want=500)
    kernel = make("cuModuleGetFunction", pointer, module, b"_Z7add_us9_Pf")
    address = pointer()
    for name in (b"table", b"factors"):
        do("cuModuleGetGlobal_v2", byref(address), byref(image_len), module, name)
        print(name, image_len.value)
    do("cuModuleGetGlobal_v2", byref(address), byref(image_len), module, b"double_it", want=500)
    # Launches as they were, and a callback behind one.
    do("cuFuncSetBlockShape", kernel, 32, 2, 1)
    do("cuParamSetSize", kernel, 8)
    do("cuLaunchGrid", kernel, 3, 2)
    called = []
    callback = ctypes.CFUNCTYPE(None, pointer, number, pointer)(lambda stream, status, data: called.append((status, data)))
    do("cuStreamAddCallback", None, callback, pointer(42), 0)
    do("cuStreamSynchronize", None)
    print(called)
    # Memory that is mapped piece by piece.
    place = Allocation(1, 0, 1, 0)
    step = make("cuMemGetAllocationGranularity", size, byref(place), 0).value
    at = make("cuMemAddressReserve", pointer, size(2 * step), size(0), pointer(0), size(0))
    for i in range(2):
        piece = make("cuMemCreate", pointer, size(step), byref(place), size(0))
        do("cuMemMap", pointer(at.value + i * step), size(step), size(0), piece, size(0))
        do("cuMemRelease", piece)
    do("cuMemSetAccess", at, size(2 * step), (number * 3)(1, 0, 3), size(1))
    do("cuMemsetD8_v2", at, 5, size(step))
    back = ctypes.create_string_buffer(16)
    do("cuMemcpyDtoH_v2", back, pointer(at.value + step - 8), size(16))
    print(back.raw)
    do("cuMemUnmap", at, size(2 * step))
    do("cuMemcpyDtoH_v2", back, at, size(16), want=1)
    do("cuMemAddressFree", at, size(2 * step))
    # Arrays: in, across and out.
    like = Descriptor(16, 4, 32, 1)
    arrays = [make("cuArrayCreate_v2", pointer, byref(like)) for _ in range(2)]
    do("cuMemcpyHtoA_v2", arrays[0], size(64), b"0123456789abcdef", size(16))
    do("cuMemcpyAtoA_v2", arrays[1], size(0), arrays[0], size(64), size(16))
    do("cuMemcpyAtoH_v2", back, arrays[1], size(0), size(16))
    print(back.raw)
    do("cuMemcpyAtoH_v2", back, arrays[1], size(250), size(16), want=1)
    for array in arrays:
        do("cuArrayDestroy", array)
    do("cuCtxSynchronize")
    do("cuModuleUnload", module)


def main():
    try:
        {"pycuda": pycuda, "numba": numba, "ctypes": by_ctypes}[sys.argv[1]]()
    except ImportError as e:
        print(e)
        sys.exit(77)


main()

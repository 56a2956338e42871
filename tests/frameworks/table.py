"""table.py: what check-frameworks runs: wheels by version, their size, what of NVIDIA's they are built for, and programs.

Sizes: MiB to download, MiB on the disk while it runs (the stand-ins have taken the places of NVIDIA's libraries).
"""

TORCH = ("eager", "loader", "compiled", "ddp", "profiled", "before", "after")
# What is checked besides status, output and messages (gpu_truth.py); what is not, and why, is in README.md.
ALL = ("calls", "work", "joined")
CHECKS = {
    "profiled": ("calls", "joined"),
    "before": ("joined",),
    "after": ("joined",),
}
# They end with an error of NVIDIA's static runtime (README.md), traced and not: nothing to count.
CHECKS.update(cupy=(), jax=())
SCRIPTS = {name: "../gpu/check/%s_work.py" % name for name in ("triton", "cupy", "jax")}
RANGE = ("-c", "cudaProfilerApi", "--capture-range-end=stop")
OPTIONS = {"before": RANGE, "after": RANGE}
# Kineto's own records suffer from the bugs that the stand-in has alike, which differ from run to run.
NO_LIES = ("profiled", "before", "after")


class Framework:
    def __init__(self, name, script, cuda, packages, mib, programs, cudnn=None, nccl=None):
        self.name, self.script, self.cuda, self.packages, self.mib = name, script, cuda, packages, mib
        self.programs, self.cudnn, self.nccl = programs, cudnn, nccl


FRAMEWORKS = [
    Framework("torch-2.4", "torch_work.py", 12, ["torch==2.4.1", "numpy==2.2.6", "setuptools==80.9.0"], (2900, 3100), TORCH, 90100, 22005),
    Framework("torch-2.6", "torch_work.py", 12, ["torch==2.6.0", "numpy==2.2.6"], (2700, 3400), TORCH, 90100, 22105),
    Framework("torch-2.8", "torch_work.py", 12, ["torch==2.8.0", "numpy==2.2.6"], (3200, 4100), TORCH, 91002, 22703),
    Framework("torch-2.15", "torch_work.py", 13, ["torch==2.15.0", "numpy==2.2.6"], (2400, 3300), TORCH + ("triton",), 92600, 23007),
    Framework("cupy-14", None, 12, ["cupy-cuda12x==14.2.0", "numpy==2.2.6", "nvidia-cuda-runtime-cu12==12.9.79",
                                    "nvidia-cuda-nvrtc-cu12==12.9.86"], (230, 400), ("cupy",)),
    Framework("jax-0.10", None, 12, ["jax==0.10.2", "jax-cuda12-plugin==0.10.2", "jax-cuda12-pjrt==0.10.2", "numpy==2.2.6",
                                     "nvidia-cuda-runtime-cu12==12.9.79"], (330, 900), ("jax",)),
]

"""triton_work.py: a kernel of the user's, compiled by Triton; says how often it launched it."""
import torch
import triton
import triton.language as tl


@triton.jit
def triton_own(p, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(p + i, mask=i < n)
    tl.store(p + i, x + 1, mask=i < n)


a = torch.zeros(10000, device="cuda")
for _ in range(25):
    triton_own[(triton.cdiv(10000, 256),)](a, 10000, BLOCK=256)
torch.cuda.synchronize()
print("kernel triton_own 25 0")
print("sum", a.sum().item())

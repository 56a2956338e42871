"""__getitem__ computes what it could keep, in one worker process. reason: COMPUTE"""
import sys

import torch
from torch.utils.data import DataLoader, Dataset

BAD = sys.argv[1] == "bad"
torch.set_num_threads(1)
cache = {}


class Numbers(Dataset):
    def __len__(self):
        return 160

    def __getitem__(self, i):
        if not BAD and i % 4 in cache:
            return cache[i % 4]
        x = sum(k * k % 7 for k in range(60000))  # CULPRIT
        cache[i % 4] = torch.full((8,), float(x % 10))
        return cache[i % 4]


if __name__ == "__main__":
    total = 0.0
    for batch in DataLoader(Numbers(), batch_size=16, num_workers=1):
        total += batch.sum().item()
    print(total)

"""__getitem__ waits for each sample. reason: SLEEP"""
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

BAD = sys.argv[1] == "bad"
torch.set_num_threads(1)


class Remote(Dataset):
    def __len__(self):
        return 80

    def __getitem__(self, i):
        if BAD:
            time.sleep(0.008)  # CULPRIT
        return torch.full((8,), float(i))


total = 0.0
for batch in DataLoader(Remote(), batch_size=8):
    total += batch.sum().item()
print(total)

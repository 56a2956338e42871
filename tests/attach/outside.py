"""outside.py - what a process is made of, read from outside of it: the slots of its objects' global offset tables, its mappings, its threads."""
import bisect
import collections
import os
import struct

GLOB_DAT, JUMP_SLOT, POINTER = 6, 7, 1  # R_X86_64_*
Mapping = collections.namedtuple("Mapping", "begin end rights offset path")


def mappings(pid):
    found = []
    with open("/proc/%d/maps" % pid) as f:
        for line in f:
            words = line.rstrip("\n").split(None, 5)
            begin, end = (int(w, 16) for w in words[0].split("-"))
            found.append(Mapping(begin, end, words[1], int(words[2], 16), words[5] if len(words) > 5 else ""))
    return found


class Elf:
    """Offsets of the slots of a file, from the base of the object: of the PLT, and others."""

    def __init__(self, path):
        self.slots, self.lazy, self.end, self.first = [], set(), 0, 0
        with open(path, "rb") as f:
            data = f.read()
        if data[:5] != b"\x7fELF\x02":
            return
        offset, size, count = struct.unpack_from("<Q", data, 32) + struct.unpack_from("<HH", data, 54)
        headers = [struct.unpack_from("<IIQQQQQQ", data, offset + i * size) for i in range(count)]
        loads = [h for h in headers if h[0] == 1]
        dynamic = [h for h in headers if h[0] == 2]
        if not loads or not dynamic:
            return
        self.first = loads[0][3] - loads[0][2]
        self.end = max(h[3] + h[6] for h in loads)

        def at(address):
            return next(address - h[3] + h[2] for h in loads if h[3] <= address < h[3] + h[5])
        tags = dict(reversed(list(struct.iter_unpack("<qQ", data[dynamic[0][2]:dynamic[0][2] + dynamic[0][5]]))))
        for table, length, is_plt in ((7, 8, False), (23, 2, True)):
            if table not in tags or not tags.get(length):
                continue
            begin = at(tags[table])
            for slot, info, addend in struct.iter_unpack("<QQq", data[begin:begin + tags[length]]):
                kind = info & 0xffffffff
                if info >> 32 and (kind in (GLOB_DAT, JUMP_SLOT) or kind == POINTER and not addend):
                    self.slots.append(slot)
                    if kind == JUMP_SLOT:
                        self.lazy.add(slot)
        self.slots = sorted(set(self.slots))


class Objects:
    """The files' tables are read once."""

    def __init__(self):
        self.elf = {}

    def slots(self, pid):
        """(object, base, offset) -> value, of all objects but the tracer's; and ranges of objects by path."""
        values, ranges = {}, {}
        mem = os.open("/proc/%d/mem" % pid, os.O_RDONLY)
        try:
            for m in mappings(pid):
                if m.offset or not m.path.startswith("/") or m.rights[0] != "r" or m.path in ranges:
                    continue
                if m.path not in self.elf:
                    try:
                        self.elf[m.path] = Elf(m.path)
                    except (OSError, struct.error, StopIteration):
                        self.elf[m.path] = None
                e = self.elf[m.path]
                if not e or not e.end:
                    continue
                base = m.begin - e.first
                ranges[m.path] = (base, base + e.end)
                if "libtrace" not in m.path:
                    self.read(mem, m.path, base, e, values)
        finally:
            os.close(mem)
        return values, ranges

    @staticmethod
    def read(mem, path, base, e, values):
        i = 0
        while i < len(e.slots):
            j = bisect.bisect_left(e.slots, e.slots[i] + 65536)
            try:
                data = os.pread(mem, e.slots[j - 1] + 8 - e.slots[i], base + e.slots[i])
            except OSError:
                return  # it has been closed meanwhile
            for slot in e.slots[i:j]:
                values[path, base, slot] = int.from_bytes(data[slot - e.slots[i]:slot - e.slots[i] + 8], "little")
            i = j

    def differences(self, pid, before):
        """Slots that do not have the value of @before, but for those that the loader has resolved meanwhile, and those in the tracer."""
        values, ranges = self.slots(pid)
        ours = [r for p, r in ranges.items() if "libtrace" in p]
        wrong = []
        for (path, base, slot), value in values.items():
            old = before.get((path, base, slot))
            begin, end = ranges[path]
            was_lazy = old is not None and begin <= old < end and slot in self.elf[path].lazy
            if any(b <= value < e for b, e in ours):
                wrong.append("%s+%x leads to the tracer" % (path, slot))
            elif old is not None and value != old and not was_lazy:
                wrong.append("%s+%x is %x, not %x" % (path, slot, value, old))
        return wrong


def files(pid):
    """Mappings of files, as (path, rights) -> bytes; and the number of bytes and mappings of none."""
    named, bytes_, cnt = collections.Counter(), 0, 0
    for m in mappings(pid):
        if m.path and not m.path.startswith("["):
            named[m.path, m.rights] += m.end - m.begin
        else:
            bytes_ += m.end - m.begin
            cnt += 1
    return named, bytes_, cnt


def threads(pid):
    names = []
    for tid in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/comm" % (pid, tid)) as f:
                names.append(f.read().strip())
        except OSError:
            pass
    return names


def status(pid, key):
    with open("/proc/%d/status" % pid) as f:
        return next(line.split(None, 1)[1].strip() for line in f if line.startswith(key + ":"))

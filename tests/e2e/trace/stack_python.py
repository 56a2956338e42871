"""stack_python.py LIBRARY TRUTH N [step] - Python whose stacks are known (tests/prog/shadow.h): functions, methods, closures,
generators, comprehensions, exceptions; through ctypes into C and back, several times. A call and what notes it stand in one
line, for the line is what is known."""
import ctypes, os, sys

lib = ctypes.CDLL(sys.argv[1])
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
lib.library_new.restype = ctypes.c_void_p
lib.library_new.argtypes = [ctypes.c_char_p]
for name in "library_note", "library_pop", "library_end":
    getattr(lib, name).argtypes = [ctypes.c_void_p]
lib.library_note.restype = ctypes.c_long
lib.library_push.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
lib.library_call.argtypes = [ctypes.c_void_p, ctypes.c_int]
lib.library_call_back.argtypes = [ctypes.c_void_p, CALLBACK, ctypes.c_int]
shadow = lib.library_new(sys.argv[2].encode())
null = os.open("/dev/null", os.O_RDONLY)
pushed = []  # texts must live as long as they stand there
bases = [None]  # the frame of Python that C stands on, and so on


def text(frame):
    """Frames from this one out to the one that C was called from."""
    lines = []
    while frame is not None and frame is not bases[-1]:
        code = frame.f_code
        lines.append("%s|%s|%d" % (getattr(code, "co_qualname", code.co_name), os.path.basename(code.co_filename), frame.f_lineno))
        frame = frame.f_back
    return ";".join(lines).encode()


def push():
    frame = sys._getframe(1)
    pushed.append(text(frame))
    bases.append(frame)
    lib.library_push(shadow, pushed[-1])


def pop():
    lib.library_pop(shadow)
    bases.pop()
    pushed.pop()


def note():
    """The number of a call that Python itself is about to make."""
    pushed.append(text(sys._getframe(1)))
    lib.library_push(shadow, pushed[-1])
    number = lib.library_note(shadow)
    lib.library_pop(shadow)
    pushed.pop()
    return number


def read():
    os.pread(null, 1, note())


class Thing:
    def method(self, n):
        os.pread(null, 1, note())
        return self.more(n)

    def more(self, n):
        if n > 0:
            return self.more(n - 1)
        os.pread(null, 1, note())
        return [os.pread(null, 1, note()) for i in range(2)]


def closure(n):
    def inner(m):
        if m:
            inner(m - 1)
        os.pread(null, 1, note())
    inner(n)


def generator(n):
    for i in range(n):
        os.pread(null, 1, note())
        yield i


def delegating(n):
    yield from generator(n)


def catches(n):
    try:
        raise ValueError(n)
    except ValueError:
        os.pread(null, 1, note())
    finally:
        os.pread(null, 1, note())


def sorts():
    def key(x):
        os.pread(null, 1, note())
        return -x
    sorted([3, 1, 2], key=key)


def long_lines(n):
    a = 1



















































































    os.pread(null, 1, note())
    return a + n


def deep(n):
    """Python's own stack grows by chunks, which it unmaps on the way back."""
    if n == 0:
        raise ValueError
    return deep(n - 1)


def calls_c(n):
    push(); lib.library_call(shadow, n); pop()


@CALLBACK
def called_back(n):
    os.pread(null, 1, note())
    if n > 0:
        there_and_back(n - 1)
    calls_c(n)
    return n


def there_and_back(n):
    push(); lib.library_call_back(shadow, called_back, n); pop()


def round_of_calls(i):
    Thing().method(i % 4)
    closure(i % 3)
    sum(generator(2))
    list(delegating(2))
    catches(i)
    sorts()
    long_lines(i)
    try: deep(600)
    except ValueError: pass
    calls_c(i)
    there_and_back(i % 4)
    (lambda: os.pread(null, 1, note()))()


for i in range(int(sys.argv[3])):
    round_of_calls(i)
lib.library_end(shadow)

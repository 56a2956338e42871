/* truth_file.c with 64-bit names: open64, pread64, ... */
#include "tests/prog/truth_file.c"

/* truth_file.c with checked twins: __open_2, __read_chk, ... */
#include "tests/prog/truth_file.c"

/* truth_stdio.c with checked twins: __fread_chk, __fprintf_chk, ... */
#include "tests/prog/truth_stdio.c"

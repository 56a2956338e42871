/* truth_sock.c with checked twins: __recv_chk, __poll_chk, ... */
#include "tests/prog/truth_sock.c"

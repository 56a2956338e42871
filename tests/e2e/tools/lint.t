#!/bin/sh
# lint.t - scripts/lint turns red for a fault that is planted in a small tree.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
command -v git >/dev/null || skip_all 'git is not installed (package git)'

mkdir tree
(cd "$TOP" && tar cf - scripts collector/base exporters/text preload/base CONTRIBUTING.md README.md Makefile .clang-format) | tar xf - -C tree
mkdir tree/build
(cd "$B" && tar cf - collector/base/*.o exporters/text/*.o preload/base/*.o) | tar xf - -C tree/build
cd tree || exit 1
echo build >.gitignore
git init -q . && git add -A || exit 1

lint() { # STATUS NAME STEP
	B=build bash scripts/lint "$3" >"$W/out" 2>&1
	is $? "$1" "$2" || diag <"$W/out"
}
planted() { # NAME STEP FILE TEXT: the line of TEXT at the end of FILE turns STEP red, and names the file
	cp "$3" "$W/kept"
	printf '%s\n' "$4" >>"$3"
	lint 1 "$1" "$2"
	check "$1: the file is named" grep -q "$3" "$W/out"
	cp "$W/kept" "$3"
	lint 0 "$1: green without it" "$2"
}
layers=layers_link_cycles_and_folder_readmes
planted 'an upward include' $layers collector/base/budget.h '#include "collector/run/drain_pacing.h"'
mkdir preload/unwind
echo '#include "preload/base/compiler.h"' | tee preload/unwind/planted.h >preload/unwind/README.md
planted 'an include that closes a circle of folders' $layers preload/base/compiler.h '#include "preload/unwind/planted.h"'
rm -r preload/unwind
planted 'a private header of another folder' $layers collector/base/budget.h '#include "preload/unwind/cfi_internal.h"'
base=hashes_escapes_and_clocks_stand_in_base
planted 'a hash of its own' $base exporters/text/format.h 'static inline unsigned planted(unsigned x) { return x * 0x9E3779B1u >> 20; }'
planted 'an escaper of its own' $base exporters/text/format.h 'static inline void planted(FILE *out) { fprintf(out, "\\u%04x", 7); }'
planted 'a clock of its own' $base exporters/text/format.h 'static inline void planted(struct timespec *t) { clock_gettime(CLOCK_MONOTONIC, t); }'
planted 'a second list of GPU work' tables_of_gpu_work_are_listed_once exporters/text/format.h 'static const char *const planted[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMSET"};'
planted 'a word of the dialect' words_of_comments_and_commit_subjects collector/base/budget.h '/* What somebody told the reader. */'
planted 'a line comment' comments_are_not_line_comments collector/base/budget.h '	// as in C++'
planted 'an include of sqlite3.h in another room' sqlite3_h_is_included_in_four_rooms collector/base/budget.h '#include <sqlite3.h>'
planted 'a floating point argument in the shim' floating_point_arguments_of_the_shim_are_taken_with_sse preload/base/table.c 'long planted(double value) { return (long)value; }'
opens=calls_that_open_files_are_listed_with_reasons
planted 'a call of open() in another file' $opens collector/base/budget.h 'static int planted(const char *path) { return open(path, 0); }'
planted 'a call of sqlite3_exec() in another file' $opens exporters/text/format.h 'static int planted(sqlite3 *db) { return sqlite3_exec(db, "", 0, 0, 0); }'
planted 'a caller that includes nothing' folder_readmes_and_the_protocol_repeat_the_source exporters/text/README.md '* In: cells. Out: text. Callers: health/.'
if grep -q 'version 14\.' <<V
$(clang-format --version 2>/dev/null)
V
then
	planted 'a line that is not laid out' layout collector/base/budget.h 'int  planted( void ) ;'
else
	skip 'a line that is not laid out' 'clang-format 14 is not installed (package clang-format)'
fi
if command -v shellcheck >/dev/null; then
	planted 'a fault in a script' scripts_pass_shellcheck scripts/check-hooks 'if [ $nothing = ]; then cd /nowhere; fi; for f in $(ls); do rm $f/*; done'
else
	skip 'a fault in a script' 'shellcheck is not installed (package shellcheck)'
fi
# The small tree lacks files that others name: the planted name alone is looked for.
printf '%s\n' '/* The format is that of collector/base/no_such_file.c. */' >>collector/base/budget.h
lint 1 'a file that a comment names and that is missing' references_to_files_exist
check 'a file that a comment names and that is missing: both are named' grep -q 'collector/base/budget.h.*no_such_file.c' "$W/out"
git checkout -q collector/base/budget.h
B=build bash scripts/lint references_to_files_exist >"$W/out" 2>&1
check 'a file that a comment names and that is missing: not named without it' sh -c '! grep -q no_such_file "$0"' "$W/out"
cp scripts/mutate.equivalent "$W/kept"
printf 'collector/base/event_loop.c\tno_function\tif (1) => if (2)\tno reason\n' >scripts/mutate.equivalent
lint 1 'a mutation that is called equivalent and that is not in the code' mutations_that_are_called_equivalent_exist
: >scripts/mutate.equivalent
lint 0 'no mutation that is called equivalent' mutations_that_are_called_equivalent_exist

# ---- memory that the shim takes from the program: of threads, of the stack ----
for kept in 500 600; do
	printf '__thread char planted[%s];\nint main(void) { return planted[0]; }\n' $kept >"$W/tls.c"
	gcc -shared -fPIC -o build/libtrace.so "$W/tls.c" && cp build/libtrace.so build/libtrace-cuda.so
	lint $((kept > 512)) "$kept bytes of thread-local variables" preloaded_libraries_have_few_thread_local_variables
done
check 'too many thread-local variables: the library is named' grep -q 'build/libtrace.so: ' "$W/out"
# The shim's compiler is that of make, with other files.
compiler=$(make -C "$TOP" -n -W preload/base/table.c V=1 "B=$B" "$B/preload/base/table.o" 2>/dev/null | grep -- '-c -o' | sed 's/ -MMD -MP / /;s/ -c -o .*//' | tail -1)
for kept in 1000 2000; do
	printf 'void planted_use(char *);\nvoid planted(void);\nvoid planted(void)\n{\n\tchar b[%s];\n\n\tplanted_use(b);\n}\n' $kept >"$W/planted.c"
	# shellcheck disable=SC2086 # words
	(cd "$TOP" && eval $compiler -c -o /dev/null '"$W/planted.c"') >"$W/out" 2>&1
	is "$(($? != 0))$(grep -o 'frame-larger-than' "$W/out" | head -1)" "$([ $kept -gt 1280 ] && echo 1frame-larger-than || echo 0)" "a function of the shim with $kept bytes of stack" || diag <"$W/out"
done

# ---- a tool that is missing is a skip with the package's name ----
mkdir "$W/bin"
for tool in bash sh sed git grep awk xargs head cat find python3 printf env; do
	ln -s "$(command -v $tool)" "$W/bin/$tool"
done
PATH=$W/bin B=build bash scripts/lint scripts_pass_shellcheck >"$W/out" 2>&1
is "$? $(sed -n 1p "$W/out")" '0 ok 1 - scripts pass shellcheck # SKIP shellcheck is not installed (package shellcheck)' 'a tool that is missing is a skip with its package'
cd "$W" || exit 1
done_testing

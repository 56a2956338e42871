#!/bin/sh
# Programs whose loader must not see the library: of 32 bits, in another root, only listed by ldd. It would say on standard error
# that it cannot be loaded, or name it among the program's libraries.
# shellcheck disable=SC2016
. tests/lib.sh

# Prints its environment, as the kernel hands it over.
cat >env.c <<'END'
#include <unistd.h>
int main(int argc, char **argv, char **env)
{
	for (; *env; env++) {
		const char *end = *env;
		while (*end)
			end++;
		write(1, *env, end - *env);
		write(1, "\n", 1);
	}
	return argc > 9 && argv ? 1 : 5;
}
END
cat >env.s <<'END'
	.globl _start
_start:	mov (%esp), %ecx
	lea 8(%esp,%ecx,4), %esi
next:	mov (%esi), %ecx
	test %ecx, %ecx
	jz end
	xor %edx, %edx
len:	cmpb $0, (%ecx,%edx)
	je put
	inc %edx
	jmp len
put:	mov $4, %eax
	mov $1, %ebx
	int $0x80
	mov $4, %eax
	mov $nl, %ecx
	mov $1, %edx
	int $0x80
	add $4, %esi
	jmp next
end:	mov $1, %eax
	mov $5, %ebx
	int $0x80
nl:	.ascii "\n"
END
# A program of 32 bits needs no C library of 32 bits, and is one for the shim on any processor.
if as --32 env.s -o env.o 2>as.err && ld -m elf_i386 env.o -o env32 2>>as.err && ./env32 >/dev/null 2>&1 || [ $? -eq 5 ]; then
	mkdir bin
	cp env32 bin/found32
	printf '#!%s/env32\n' "$W" >script
	chmod +x script
	PATH=$PATH:$W/bin
	for how in './env32' 'exec ./env32' './script' 'found32' 'exec found32' \
		"$PY -c 'import subprocess; raise SystemExit(subprocess.run([\"./env32\"]).returncode)'" \
		"$PY -c 'import os; raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn(\"./env32\", [\"e\"], os.environ), 0)[1]))'" \
		"$PY -c 'import os; raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawnp(\"found32\", [\"e\"], os.environ), 0)[1]))'" \
		"$PY -c 'import os; os.execve(\"./env32\", [\"e\"], {})'"; do
		profile p --osrt-threshold=0 sh -c "$how" >got 2>err
		is "$? $(grep LD_PRELOAD got)" '5 ' "a 32-bit program is started without the library, profile, $how"
		is "$(said err | grep -v '^sightline: report: ')" '' "a 32-bit program: nothing on standard error, profile, $how"
	done
	profile first ./env32 >got 2>err
	is "$? $(grep LD_PRELOAD got)" '5 ' 'a 32-bit program as the first one is started without the library'
	SIGHTLINE_OUTPUT=$W/b.sqlite LD_PRELOAD=$PROG/lib/other.so:$SHIM sh -c './env32; cat /etc/passwd' >got 2>err
	is "$(grep LD_PRELOAD got) $(cat err)" "LD_PRELOAD=$PROG/lib/other.so " 'a 32-bit program keeps the other preloads, bare'
	check 'the report of a bare preload is finished' wait_for 20 finished b.sqlite
	is "$(q "$W/b.sqlite" "SELECT count(*) > 0 FROM call WHERE path = '/etc/passwd'")" 1 'a program after a 32-bit one is traced'
	if [ -e /lib/ld-linux.so.2 ] && ld -m elf_i386 -dynamic-linker /lib/ld-linux.so.2 --no-as-needed env.o /lib32/libc.so.6 -o dyn32 2>as.err &&
		./dyn32 >/dev/null 2>&1 || [ $? -eq 5 ]; then
		profile dyn sh -c './dyn32; exit $?' >got 2>err
		is "$?$(said err | grep -v '^sightline: report: ')" 5 'the loader of 32 bits says nothing on standard error'
	else
		skip 'the loader of 32 bits says nothing on standard error' 'it is not installed (package libc6-i386)'
	fi
else
	skip 'a 32-bit program is started without the library' 'as, ld or the kernel know no 32-bit x86'
fi

# ---- another root ----
if [ "$(id -u)" = 0 ] && gcc -w -static env.c -o env64 2>cc.err; then
	mkdir -p root
	cp env64 root/
	profile root "$PY" -c 'import os; os.chroot("root"); os.chdir("/"); os.execv("/env64", ["env64"])' >got 2>err
	is "$? $(grep LD_PRELOAD got)" '5 ' 'a program in a root without the library is started without it'
	profile here "$PY" -c 'import os; os.execv("./env64", ["env64"])' >got 2>err
	is "$? $(grep -c LD_PRELOAD got)" '5 1' 'a program in the root with the library is started with it'
else
	skip 'a program in a root without the library is started without it' 'needs root and a static libc'
fi

# ---- command lines ----
# That of the kernel, whatever the loader hands over: without the loader's own name and options where it is run as a program.
cat >line.py <<'END'
import os
with open("/proc/self/cmdline", "rb") as f:
    os.write(1, f.read(4000).replace(b"\0", b" ").rstrip(b" ") + b"\n")
END
loader=$(ldd "$PY" | sed -n 's|^[[:space:]]*\(/[^ ]*ld-linux[^ ]*\) .*|\1|p')
long=$(printf '%5000s' '' | tr ' ' q)
cat >lines.sh <<END
"$PY" -S line.py
"$PY" -S line.py a "b c" "" d
"$PY" -S line.py $long
"$loader" --inhibit-cache "$PY" -S line.py x y
END
profile lines sh lines.sh >want 2>err
is "$(sqlite3 "$R" "SELECT rtrim(substr(commandLine, 1, 4000)) FROM SL_PROCESS_TREE WHERE commandLine LIKE '%line.py%' ORDER BY start")" "$(cat want)" 'command lines: as in /proc, by the loader run as a program, too'
is "$(grep -c . want)" 4 'command lines: all four programs have printed theirs'

# ---- lists of libraries ----
ldd /bin/ls >want 2>&1
profile ldd sh -c 'ldd /bin/ls; LD_TRACE_LOADED_OBJECTS=1 /bin/ls' >got 2>err
is "$(grep -c libtrace got)" 0 'ldd does not list the library'
is "$(sed 's/ (0x.*//' got | sort -u)" "$(sed 's/ (0x.*//' want | sort -u)" 'ldd lists what it lists untraced'
cat >lists.sh <<END
"$loader" --list /bin/ls
"$loader" --inhibit-cache --library-path /nowhere --list /bin/ls
"$loader" /bin/echo --list
"$loader" --library-path --list /bin/echo an option of the loader as its value
END
lists() { sed 's/ (0x.*//' "$1"; }
sh lists.sh >want 2>&1
profile lists sh lists.sh >got 2>&1
is "$(grep -v '^sightline: report' got | lists -)" "$(lists want)" 'ld.so --list lists what it lists untraced'
is "$(q "$R" "SELECT count(*) FROM SL_PROCESS_TREE WHERE traced AND commandLine LIKE '%ld-linux%/bin/echo%'")" 2 'programs of the loader are traced that have --list as an argument or value'
"$loader" --list /bin/ls >want 2>&1
profile list "$loader" --list /bin/ls >got 2>err
is "$(lists got)" "$(lists want)" 'profile of ld.so --list lists what it lists untraced'
done_testing

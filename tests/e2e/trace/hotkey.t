#!/bin/sh
# --capture-range=hotkey on a real pseudo terminal: the key begins and ends, the terminal stays the program's.
. tests/lib.sh

at_exit='for d in "$W"/*/; do echo end >"$d/phase"; done'

scenario() { # NAME WHAT
	mkdir "$1"
	check "$2" sh -c 'cd "$1" && "$2" "$3/trace/hotkey_pty.py" "$4" "$1"; r=$?; echo end >phase; exit $r' sh "$1" "$PY" "$E2E" "$BIN"
	wait_for 20 sh -c "[ -z \"\$('$BIN' sessions list -p false)\" ]"
}
scenario toggles 'F12 begins and ends a capture; the terminal is as before'
is "$(q toggles/r.1.sqlite "SELECT group_concat(DISTINCT substr(path, -1)) FROM call WHERE path LIKE '%/mark-_'")" 'a,b' \
	'the report has the calls between two F12'
scenario character 'a character as the key begins a capture'
scenario reader 'a program that reads the terminal has it in its ordinary modes'
scenario own_modes 'a program that sets modes of its own gets every key'
scenario crash 'the modes of the terminal are put back when the collector crashes'
scenario interrupt 'the modes of the terminal are put back at Ctrl-C'
if command -v bash >/dev/null; then
	scenario stop_and_continue 'the modes of the terminal are put back at Ctrl-Z; after fg the key counts again'
	scenario background 'profile in the background leaves the terminal alone'
else
	skip 'the modes of the terminal are put back at Ctrl-Z' 'bash is not installed (package bash)'
fi
scenario launch 'launch takes the key when start -c hotkey asks for it'
is "$(q launch/l.1.sqlite "SELECT count(*) > 0 FROM call WHERE path LIKE '%/mark-b'")" 1 'the capture by key under launch is in its report'
if command -v tmux >/dev/null; then
	scenario tmux 'F12 in tmux begins a capture'
else
	skip 'F12 in tmux begins a capture' 'tmux is not installed (package tmux)'
fi
done_testing

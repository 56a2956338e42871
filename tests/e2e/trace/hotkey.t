#!/bin/sh
# --capture-range=hotkey on a real pseudo terminal: the key begins and ends, the terminal stays the program's.
. tests/lib.sh

at_exit='for d in "$W"/*/; do echo end >"$d/phase"; done'

scenario() { # NAME WHAT
	mkdir "$1"
	check "$2" sh -c 'cd "$1" && "$2" "$3/trace/hotkey_pty.py" "$4" "$1"; r=$?; echo end >phase; exit $r' sh "$1" "$PY" "$E2E" "$BIN"
	wait_for 20 sh -c "[ -z \"\$('$BIN' sessions list -p false)\" ]"
}
scenario toggles 'F12 begins and ends; the terminal is as before'
is "$(q toggles/r.1.sqlite "SELECT group_concat(DISTINCT substr(path, -1)) FROM call WHERE path LIKE '%/mark-_'")" 'a,b' \
	'the report has what lay between'
scenario character 'so does a character'
scenario reader 'a program that reads has its terminal'
scenario own_modes 'so has one that sets modes of its own'
scenario crash 'the modes are put back when the collector crashes'
scenario interrupt 'and at Ctrl-C'
if command -v bash >/dev/null; then
	scenario stop_and_continue 'and at Ctrl-Z; after fg the key counts again'
	scenario background 'in the background nothing is touched'
else
	skip 'job control' 'bash is not installed'
fi
scenario launch 'launch takes the key when start says so'
is "$(q launch/l.1.sqlite "SELECT count(*) > 0 FROM call WHERE path LIKE '%/mark-b'")" 1 'and the report is there'
if command -v tmux >/dev/null; then
	scenario tmux 'in tmux'
else
	skip 'in tmux' 'tmux is not installed'
fi
done_testing

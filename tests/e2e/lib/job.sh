# job.sh - sessions of one machine as the nodes of a job "j" in $W/ds, numbered; to be sourced after tests/lib.sh.
# shellcheck shell=sh disable=SC2034
P=$PROG/flight
HOST=$(hostname)
JOB=$W/ds/_jobs/j

session() { # NUMBER OPTION... -- PROGRAM...: adds its pid to $pids
	session_number=$1
	shift
	"$BIN" profile -f true -o "$W/n$session_number" -s none --cpuctxsw=none --ranks="$W/ds" --run=j "$@" >out.$session_number 2>err.$session_number &
	pids="$pids $!"
}
there() { [ "$(find "$JOB/at" -type f ! -name '.*' 2>/dev/null | wc -l)" = "$1" ]; } # so many sessions
programs() { for there_pid in $pids; do pgrep -P "$there_pid" -x "${P##*/}"; done; }
job() { timeout 100 "$BIN" "$@" --job="$W/ds" >out 2>err; }
reports() { grep -c "^sightline: $HOST: report: $W/n[123][.0-9]*sqlite$" err; }

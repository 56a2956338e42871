#!/bin/sh
# Names of addresses that an earlier recording has found in debug information: the same, and none that is not right.
. tests/lib.sh
command -v g++ >/dev/null || skip_all 'no C++ compiler'
command -v objcopy >/dev/null || skip_all 'objcopy is not installed (package binutils)'

cat >nap.cc <<'END'
#include <ctime>
__attribute__((noinline)) int slow_work(int n)
{
	timespec t = {0, 20000000};
	nanosleep(&t, nullptr); // WORK
	return n + 1;
}
int main()
{
	return slow_work(0) - 1;
}
END
line() { grep -n "// $1" nap.cc | cut -d: -f1; }
chain() {
	sqlite3 "$R" "SELECT n.value || ifnull(' ' || f.value || ':' || c.line, '') FROM OSRT_API o
		JOIN StringIds a ON a.id = o.nameId AND a.value LIKE '%nanosleep'
		JOIN OSRT_CALLCHAINS c ON c.id = o.callchainId JOIN StringIds n ON n.id = c.symbol
		JOIN StringIds m ON m.id = c.module AND m.value LIKE '%/nap'
		LEFT JOIN StringIds f ON f.id = c.file WHERE n.value <> '_start' ORDER BY c.stackDepth"
}
build() {
	g++ -O2 -g -fno-ipa-icf -o nap nap.cc && objcopy --only-keep-debug nap nap.debug && strip nap && objcopy --add-gnu-debuglink=nap.debug nap
}
kept=$XDG_CACHE_HOME/sightline/symbols

check 'g++ builds a program with separate debug information' build
check 'the first recording succeeds' profile first ./nap
case $(chain) in
*nap.cc:*) ;;
*) skip_all 'built without libdw' ;;
esac
first=$(chain)
check 'the first recording has names with lines' test -n "$(chain | grep "nap.cc:$(line WORK)")"
check 'the first recording keeps names for later ones' test -s "$kept"
is "$(stat -c '%a %a' "$kept" "${kept%/*}" | tr '\n' ' ')" '600 600 700 700 ' "the file of names is the user's alone"
check 'the second recording succeeds' profile second ./nap
is "$(chain)" "$first" 'the second recording has the same names'

# That the names come from there shows when they are others there.
forge() { sed -i 's/slow_work/forged_on/g' "$kept"; }
check 'names in the file are forged' forge
check 'a recording with forged names succeeds' profile forged ./nap
is "$(chain)" "$(echo "$first" | sed 's/slow_work/forged_on/')" 'names come from the file'
chmod 666 "$kept"
check 'a recording with a file that others may write succeeds' profile shared ./nap
is "$(chain)" "$first" 'a file that others may write is not read'
check 'names in the file are forged again' forge
cp "$kept" names
rm "$kept"
ln -s "$W/names" "$kept"
check 'a recording with a link in place of the file succeeds' profile link ./nap
is "$(chain)" "$first" 'a link in place of the file is not followed'
rm -f "$kept"
cp names "$kept"
chmod 600 "$kept"
sleep 0.01
touch nap.debug
check 'a recording with touched debug information succeeds' profile touched ./nap
is "$(chain)" "$first" 'names of debug information that was touched are looked up again'
cp names "$kept"
sed -i '1i // one more line' nap.cc
check 'g++ builds another program of that name' build
check 'a recording of another program of that name succeeds' profile another ./nap
check 'another program of that name has its own lines' test -n "$(chain | grep "nap.cc:$(line WORK)")"
for cut in 0 100 1000; do
	head -c $cut names >"$kept"
	check "a recording with $cut bytes of names succeeds" profile cut ./nap
	check "a recording with $cut bytes of names has its lines" test -n "$(chain | grep "nap.cc:$(line WORK)")"
done
rm "$kept"
check 'g++ builds a program with its debug information in itself' g++ -O2 -g -fno-ipa-icf -o nap nap.cc
check 'a recording of debug information in the program succeeds' profile itself ./nap
itself=$(chain)
check 'debug information in the program has lines' test -n "$(echo "$itself" | grep "nap.cc:$(line WORK)")"
check 'names of debug information in the program are forged' forge
check 'a second recording of debug information in the program succeeds' profile again ./nap
is "$(chain)" "$(echo "$itself" | sed 's/slow_work/forged_on/')" 'names of debug information in the program come from the file'
touch nap
check 'a recording of a touched program succeeds' profile touched_itself ./nap
is "$(chain)" "$itself" 'names of a program that was touched are looked up again'
rm -rf "$XDG_CACHE_HOME"
XDG_CACHE_HOME=/dev/null/cache
check 'a recording without a cache folder succeeds' profile none ./nap
check 'a recording without a cache folder has its lines' test -n "$(chain | grep "nap.cc:$(line WORK)")"
done_testing

#compdef sightline
# Completion of sightline(1) for zsh. As for bash, all words come from the program's own tables (--completion-data).

# Values of an option that are known; else files.
_sightline_value() { # VALUES
	if [[ -z $1 || $1 == - ]]; then
		_files
		return
	fi
	[[ $PREFIX == *,* ]] && compset -P '*,'
	compadd -S '' -- ${(s:,:)1}
}

_sightline() {
	local program=$words[1] command=$words[2] word letter name takes values kind i
	local -A takes_of values_of
	local -a listed=(--help)

	if ((CURRENT == 2)) || [[ $command == help ]]; then
		((CURRENT <= 3)) && compadd -- ${(f)"$($program --completion-data 2>/dev/null)"}
		((CURRENT == 2)) && compadd -- --help --version
		return
	fi
	while IFS=$'\t' read -r letter name takes values kind; do
		[[ $takes == bool ]] && values=true,false
		[[ $name == - ]] || takes_of[--$name]=$takes values_of[--$name]=$values
		[[ $letter == - ]] || takes_of[-$letter]=$takes values_of[-$letter]=$values
		[[ $kind == listed && $name != - ]] && listed+=--$name
	done < <($program $command --completion-data 2>/dev/null)

	# What follows the program's name is the program's; of other commands, options may follow reports.
	for ((i = 3; i < CURRENT; i++)); do
		word=$words[i]
		case $word in
		--)
			((i++))
			break
			;;
		--*=*) ;;
		-*)
			if [[ $takes_of[$word] == value ]] ||
				[[ $takes_of[$word] == bool && $words[i+1] == (true|false|yes|no|0|1) && $((i + 1)) -lt $CURRENT ]]; then
				((i++))
			fi
			;;
		*) [[ $command == (profile|launch) ]] && break ;;
		esac
	done
	if ((i == CURRENT + 1)); then
		_sightline_value "$values_of[$words[CURRENT-1]]"
	elif ((i < CURRENT)); then
		words=("${(@)words[i,-1]}")
		((CURRENT -= i - 1))
		_normal
	elif [[ $words[CURRENT] == --*=* ]]; then
		name=${words[CURRENT]%%=*}
		compset -P '*='
		_sightline_value "$values_of[$name]"
	elif [[ $words[CURRENT] == -* ]]; then
		compadd -- $listed
	elif [[ $command == sessions ]] && ((CURRENT == 3)); then
		compadd list
	elif [[ $command == (profile|launch) ]]; then
		[[ $takes_of[$words[CURRENT-1]] == bool ]] && compadd -- true false
		_command_names -e
		_files
	else
		_files
	fi
}

# Loaded by compinit its body is the function; read by `source` it announces itself.
if [[ $funcstack[1] == _sightline ]]; then
	_sightline "$@"
else
	compdef _sightline sightline
fi

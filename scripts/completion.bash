# Completion of sightline(1) for bash. Commands, options and values come from the program's own tables
# (--completion-data), so nothing here needs to follow them.
# shellcheck shell=bash

# Fills COMPREPLY with those of the words in $1 that begin with $2; $3 stands before each.
_sightline_words() {
	local word
	for word in $1; do
		[[ $word == "$2"* ]] && COMPREPLY+=("$3$word")
	done
}

# One value of an option; in comma lists the last part.
_sightline_value() { # VALUES CUR
	local before=
	if [[ $1 == - ]]; then
		compopt -o default 2>/dev/null
		return
	fi
	[[ $2 == *,* ]] && before=${2%,*},
	_sightline_words "${1//,/ }" "${2##*,}" "$before"
	compopt -o nospace 2>/dev/null
	# Where names are expected there may be files too (reports of one's own).
	((${#COMPREPLY[@]})) || compopt -o default 2>/dev/null
}

_sightline() {
	local program=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]} i letter name takes values kind
	local -A takes_of=() values_of=()
	local listed='--help'

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		_sightline_words "$("$program" --completion-data 2>/dev/null) --help --version" "$cur"
		return
	fi
	if [[ $command == help ]]; then
		((COMP_CWORD == 2)) && _sightline_words "$("$program" --completion-data 2>/dev/null)" "$cur"
		return
	fi
	while IFS=$'\t' read -r letter name takes values kind; do
		[[ $takes == bool ]] && values=true,false
		takes_of[--$name]=$takes takes_of[-$letter]=$takes
		values_of[--$name]=$values values_of[-$letter]=$values
		[[ $kind == listed && $name != - ]] && listed+=" --$name"
	done < <("$program" "$command" --completion-data 2>/dev/null)

	# --name=value reaches us as three words, because '=' breaks words.
	if [[ $cur == '=' || $prev == '=' ]]; then
		i=$((COMP_CWORD - 1))
		[[ $prev == '=' ]] && i=$((i - 1)) || cur=
		_sightline_value "${values_of[${COMP_WORDS[i]}]:--}" "$cur"
		return
	fi
	# What follows the program's name is the program's; of other commands, options may follow reports.
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--)
			i=$((i + 1))
			break
			;;
		-*)
			if [[ ${COMP_WORDS[i + 1]} == '=' ]]; then
				i=$((i + 2))
			elif [[ ${takes_of[${COMP_WORDS[i]}]} == value ]] ||
				[[ ${takes_of[${COMP_WORDS[i]}]} == bool && ${COMP_WORDS[i + 1]} =~ ^(true|false|yes|no|0|1)$ ]]; then
				i=$((i + 1))
			fi
			;;
		*) [[ $command == profile || $command == launch ]] && break ;;
		esac
	done
	if ((i == COMP_CWORD + 1)) || [[ ${takes_of[$prev]} == bool && $i -eq $COMP_CWORD && $cur != -* ]]; then
		_sightline_value "${values_of[$prev]:--}" "$cur"
		[[ ${takes_of[$prev]} == bool && ${#COMPREPLY[@]} -eq 0 ]] || return
	fi
	if [[ $cur == -* && $i -ge $COMP_CWORD ]]; then
		_sightline_words "$listed" "$cur"
	elif [[ $command == sessions ]] && ((COMP_CWORD == 2)); then
		_sightline_words list "$cur"
	elif [[ $command != profile && $command != launch ]]; then
		compopt -o default 2>/dev/null
	elif ((i < COMP_CWORD)) && declare -F _command_offset >/dev/null; then
		_command_offset "$i"
	elif ((i < COMP_CWORD)); then
		compopt -o default 2>/dev/null
	else
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -- "$cur")
		compopt -o default 2>/dev/null
	fi
}

complete -F _sightline sightline

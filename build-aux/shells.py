# SPDX-License-Identifier: Apache-2.0
"""Completion for bash and zsh, made of the table of options.

Both scripts walk the words up to the cursor as cli.py does: an option's value
is no operand, the first operands name what to look at, then comes the verb.
"""

from collections.abc import Iterable

from goref.options import Option
from goref.verbs import QUESTIONS, SOURCES, STANDALONE, VERBS

_ALL_VERBS = {**VERBS, **STANDALONE}

_HEAD = "# SPDX-License-Identifier: Apache-2.0\n# Made of the table of options"


def _known() -> dict[str, list[Option]]:
    """The options of each verb, and of each source without a verb."""
    found = {name: [*verb.options] for name, verb in _ALL_VERBS.items()}
    for name, source in SOURCES.items():
        found[name] = [
            *source.options, *QUESTIONS.values(), *VERBS["scan"].options
        ]  # fmt: skip
    return found


def _every() -> list[Option]:
    options = [o for group in _known().values() for o in group]
    return list({o.name: o for o in options}.values())


def _value(option: Option) -> str:
    if option.kind == "file":
        return "file"
    words = " ".join(option.choices) or "none"
    return f", {words}" if option.kind == "names" else words


def _branch(verbs: list[str], option: Option) -> str:
    """A pattern that a verb and an option match. Options may have one dash."""
    names = [f"-{option.letter}"] if option.letter else []
    names += [f"-{option.name}", f"--{option.name}"]
    return " | ".join(f"{v}:{n}" for v in verbs for n in names)


def _values() -> str:
    """Branches for the values of all options. An option of one name may have
    other values behind another verb; those of most verbs come last."""
    lines = []
    for name in (o.name for o in _every() if not o.is_flag):
        sorts: dict[str, tuple[list[str], Option]] = {}
        for verb, options in _known().items():
            for option in options:
                if option.name == name:
                    value = _value(option)
                    sorts.setdefault(value, ([], option))[0].append(verb)
        most = max(sorts, key=lambda sort: len(sorts[sort][0]))
        for sort in sorted(sorts, key=lambda sort: sort == most):
            verbs, option = sorts[sort]
            branch = _branch(["*"] if sort == most else verbs, option)
            lines.append(f"\t{branch}) value='{sort}' ;;")
    return "\n".join(lines)


def _operands() -> str:
    """Branches for the operands of all verbs, by their number."""
    lines = []
    for name, verb in _ALL_VERBS.items():
        for at, words in enumerate(verb.choices):
            if words:
                lines.append(f"\t{name}:{at}) REPLY='{' '.join(words)}' ;;")
        if verb.operands == "FILE":
            lines.append(f"\t{name}:0) REPLY=file ;;")
    return "\n".join(lines)


def _long(options: Iterable[Option]) -> str:
    return " ".join([*(f"--{o.name}" for o in options), "--help"])


# Both shells read this.
_VALUE = """\
# The value of an option behind a verb: a file, one of some words, several of
# them with commas between (a comma, then the words), or anything (none).
_goref_value()
{{
	local value
	case $1:$2 in
{values}
	*) return 1 ;;
	esac
	REPLY=$value
}}

# An operand behind a verb, the first being 0.
_goref_operand()
{{
	case $1:$2 in
{operands}
	*) REPLY=none ;;
	esac
}}
"""

_BASH = """\
{head}: bash completion of goref.

{value}
# Options behind a verb, or behind what to look at without one.
_goref_options()
{{
	case $1 in
{options}
	*) REPLY='--help --version --python-path' ;;
	esac
}}

_goref_files()
{{
	compopt -o filenames 2>/dev/null
	mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <(compgen -f -- "$cur")
}}

# Processes that can be attached to: those of the kernel have no executable.
# Their names appear where the shell lists them.
_goref_processes()
{{
	local process name
	local -a found=()

	for process in /proc/"$cur"*; do
		[[ ${{process##*/}} == +([0-9]) && -e $process/exe ]] || continue
		read -r name 2>/dev/null <"$process/comm"
		found+=("${{process##*/}} ($name)")
	done
	[[ $COMP_TYPE == 63 && ${{#found[@]}} -gt 1 ]] ||
		found=("${{found[@]%% *}}")
	COMPREPLY+=("${{found[@]}}")
}}

# Offer the words behind those before the last comma.
_goref_list()
{{
	local before=

	[[ $cur == *,* ]] && before=${{cur%,*}},
	words=${{*/#/$before}}
}}

# Offer the words or the files of REPLY.
_goref_complete()
{{
	case $REPLY in
	file) _goref_files ;;
	none) ;;
	', '*) _goref_list ${{REPLY#, }} ;;
	*) words=$REPLY ;;
	esac
}}

_goref_operands()
{{
	if [[ ! $source ]]; then
		words='{sources} {standalone} help'
	elif [[ $source == help ]]; then
		words='{sources} {verbs} {standalone}'
	elif [[ " {standalone} " == *" $source "* ]]; then
		_goref_files
		_goref_processes
	elif [[ $verb ]]; then
		_goref_operand "$verb" "$operands"
		_goref_complete
	elif [[ $source == attach && $places -eq 0 ]]; then
		_goref_processes
	else
		((places)) && words=$verbs
		[[ $places -eq 0 || ($source == core && $places -eq 1) ]] &&
			_goref_files
	fi
}}

_goref()
{{
	local cur=${{COMP_WORDS[COMP_CWORD]}} REPLY= option= source= verb= word
	local -i i places=0 operands=0
	local verbs='{verbs}' words=

	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${{COMP_WORDS[i]}}
		if [[ $word == = ]]; then
			continue # of --option=value, which are three words
		elif [[ $option ]]; then
			option=
		elif [[ $word == -* ]]; then
			_goref_value "${{verb:-$source}}" "$word" && option=$word
		elif [[ ! $source ]]; then
			source=$word
		elif [[ $verb ]]; then
			operands+=1
		elif [[ $places -ge 1 && " $verbs " == *" $word "* ]]; then
			verb=$word
		else
			places+=1
		fi
	done
	[[ $cur == = ]] && cur=

	COMPREPLY=()
	if [[ $option ]]; then
		_goref_value "${{verb:-$source}}" "$option"
		_goref_complete
	elif [[ $cur == -* ]]; then
		_goref_options "${{verb:-$source}}"
		words=$REPLY
		if [[ $verb ]]; then
			case $source in
{more}
			esac
		fi
		[[ $cur == -[!-]* ]] && words=" $words" words=${{words// --/ -}}
	else
		_goref_operands
	fi
	mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <(
		compgen -W "$words" -- "$cur")
}}
complete -F _goref goref
"""


def bash() -> str:
    known = _known()
    return _BASH.format(
        head=_HEAD,
        value=_VALUE.format(values=_values(), operands=_operands()),
        options="\n".join(
            f"\t{name}) REPLY='{_long(known[name])}' ;;" for name in known
        ),
        more="\n".join(
            f"\t\t\t{name}) words+=' {_long(source.options)}' ;;"
            for name, source in SOURCES.items()
            if source.options
        ),
        verbs=" ".join(VERBS),
        sources=" ".join(SOURCES),
        standalone=" ".join(STANDALONE),
    )


_ZSH = """\
#compdef goref
{head}: zsh completion of goref.

{value}
_goref_options()
{{
	case $1 in
{options}
	*) options=('--help:print help' '--version:print the version'
		"--python-path:print what PYTHONPATH needs for \\`import goref'") ;;
	esac
}}

# Processes that can be attached to: those of the kernel have no executable.
_goref_processes()
{{
	local process name
	local -a processes

	for process in /proc/<->(N:t); do
		[[ -e /proc/$process/exe ]] || continue
		name=
		read -r name 2>/dev/null </proc/$process/comm
		processes+=("$process:$name")
	done
	_describe process processes
}}

# Offer the words or the files of REPLY.
_goref_complete()
{{
	case $REPLY in
	file) _files ;;
	none) _message "$1" ;;
	', '*) compset -P '*,'; compadd -S '' -- ${{=REPLY#, }} ;;
	*) compadd -- ${{=REPLY}} ;;
	esac
}}

_goref_operands()
{{
	if [[ -z $source ]]; then
		sources+=($alone 'help:print help')
		_describe 'what to look at' sources
	elif [[ $source == help ]]; then
		verbs+=($sources $alone)
		_describe verb verbs
	elif [[ -n ${{alone[(r)$source:*]}} ]]; then
		_files
		_goref_processes
	elif [[ -n $verb ]]; then
		_goref_operand $verb $operands
		_goref_complete 'expression or number'
	elif [[ $source == attach && $places -eq 0 ]]; then
		_goref_processes
	else
		((places)) && _describe verb verbs
		[[ $places -eq 0 || ( $source == core && $places -eq 1 ) ]] &&
			_files
	fi
}}

_goref()
{{
	local REPLY option source verb word
	local -a options more names verbs sources alone
	integer i places=0 operands=0
	verbs=(
{verbs}
	)
	sources=(
{sources}
	)
	alone=(
{standalone}
	)
	names=({names})

	for ((i = 2; i < CURRENT; i++)); do
		word=${{words[i]}}
		if [[ -n $option ]]; then
			option=
		elif [[ $word == -* ]]; then
			_goref_value "${{verb:-$source}}" "$word" && option=$word
		elif [[ -z $source ]]; then
			source=$word
		elif [[ -n $verb ]]; then
			((operands += 1))
		elif [[ $places -ge 1 && -n ${{names[(re)$word]}} ]]; then
			verb=$word
		else
			((places += 1))
		fi
	done
	if [[ -z $option && $PREFIX == -*=* ]]; then
		_goref_value "${{verb:-$source}}" "${{PREFIX%%=*}}" &&
			option=${{PREFIX%%=*}}
		compset -P '*='
	fi

	if [[ -n $option ]]; then
		_goref_value "${{verb:-$source}}" "$option"
		_goref_complete "value of $option"
	elif [[ $PREFIX == -* ]]; then
		_goref_options "${{verb:-$source}}"
		if [[ -n $verb ]]; then
			case $source in
{more}
			esac
			options+=($more)
		fi
		[[ $PREFIX == -[^-]* ]] && options=("${{(@)options/#--/-}}")
		_describe -o option options
	else
		_goref_operands
	fi
}}

_goref "$@"
"""


def _described(name: str, text: str) -> str:
    """A word of zsh: what it completes, and what that is."""
    first = text.split(". ")[0].rstrip(".").replace(":", ",")
    return "'" + f"{name}:{first}".replace("'", "'\\''") + "'"


def _group(options: Iterable[Option]) -> str:
    words = [_described(f"--{o.name}", o.help) for o in options]
    return "\n\t\t".join([*words, _described("--help", "Print help.")])


def zsh() -> str:
    known = _known()
    return _ZSH.format(
        head=_HEAD,
        value=_VALUE.format(values=_values(), operands=_operands()),
        options="\n".join(
            f"\t{name}) options=(\n\t\t{_group(known[name])}\n\t) ;;"
            for name in known
        ),
        more="\n".join(
            f"\t\t\t{name}) more=(\n\t\t{_group(source.options)}\n\t\t\t) ;;"
            for name, source in SOURCES.items()
            if source.options
        ),
        verbs="\n".join(
            f"\t\t{_described(v.name, v.summary)}" for v in VERBS.values()
        ),
        sources="\n".join(
            f"\t\t{_described(s.name, s.summary)}" for s in SOURCES.values()
        ),
        standalone="\n".join(
            f"\t\t{_described(v.name, v.summary)}"
            for v in STANDALONE.values()
        ),
        names=" ".join(VERBS),
    )

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


def _names(option: Option) -> list[str]:
    letters = [f"-{option.letter}"] if option.letter else []
    return [*letters, f"--{option.name}"]


def _value(option: Option) -> str:
    if option.kind == "file":
        return "file"
    return " ".join(option.choices) or "none"


def _values() -> str:
    """A branch for each sort of value."""
    sorts: dict[str, list[str]] = {}
    for option in _every():
        if not option.is_flag:
            sorts.setdefault(_value(option), []).extend(_names(option))
    return "\n".join(
        f"\t{' | '.join(names)}) value='{sort}' ;;"
        for sort, names in sorts.items()
    )


def _long(options: Iterable[Option]) -> str:
    return " ".join([*(f"--{o.name}" for o in options), "--help"])


# Both shells read this.
_VALUE = """\
# The value of an option: a file, one of some words, or anything (none).
_goref_value()
{{
	local value
	case $1 in
{values}
	*) return 1 ;;
	esac
	REPLY=$value
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

_goref()
{{
	local cur=${{COMP_WORDS[COMP_CWORD]}} REPLY= option= source= verb= word
	local -i i places=0
	local verbs='{verbs}' words=

	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${{COMP_WORDS[i]}}
		if [[ $word == = ]]; then
			continue # of --option=value, which are three words
		elif [[ $option ]]; then
			option=
		elif [[ $word == -* ]]; then
			_goref_value "$word" && option=$word
		elif [[ ! $source ]]; then
			source=$word
		elif [[ ! $verb && $places -ge 1 &&
			" $verbs " == *" $word "* ]]; then
			verb=$word
		else
			places+=1
		fi
	done
	[[ $cur == = ]] && cur=

	COMPREPLY=()
	if [[ $option ]]; then
		_goref_value "$option"
		case $REPLY in
		file)
			compopt -o filenames 2>/dev/null
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
			;;
		none) return ;;
		*) words=$REPLY ;;
		esac
	elif [[ $cur == -* ]]; then
		_goref_options "${{verb:-$source}}"
		words=$REPLY
		if [[ $verb ]]; then
			case $source in
{more}
			esac
		fi
	elif [[ ! $source ]]; then
		words='{sources} {standalone} help'
	elif [[ $source == help ]]; then
		words='{sources} {verbs} {standalone}'
	elif [[ " {standalone} " == *" $source "* ]]; then
		words=$(cd /proc && printf '%s ' [0-9]*)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	elif [[ ! $verb && $source == attach && $places -eq 0 ]]; then
		words=$(cd /proc && printf '%s ' [0-9]*)
	elif [[ ! $verb ]]; then
		((places)) && words=$verbs
		if [[ $source == core && $places -lt 2 ]]; then
			compopt -o filenames 2>/dev/null
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		fi
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
        value=_VALUE.format(values=_values()),
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
		"--python-path:print what PYTHONPATH needs for \`import goref'") ;;
	esac
}}

_goref()
{{
	local REPLY option source verb word
	local -a options more names verbs sources alone
	integer i places=0
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
			_goref_value "$word" && option=$word
		elif [[ -z $source ]]; then
			source=$word
		elif [[ -z $verb && $places -ge 1 && -n ${{names[(re)$word]}} ]]
		then
			verb=$word
		else
			((places += 1))
		fi
	done
	if [[ -z $option && $PREFIX == --*=* ]]; then
		_goref_value "${{PREFIX%%=*}}" && option=${{PREFIX%%=*}}
		compset -P '*='
	fi

	if [[ -n $option ]]; then
		_goref_value "$option"
		case $REPLY in
		file) _files ;;
		none) _message "value of $option" ;;
		*) compadd -- ${{=REPLY}} ;;
		esac
	elif [[ $PREFIX == -* ]]; then
		_goref_options "${{verb:-$source}}"
		if [[ -n $verb ]]; then
			case $source in
{more}
			esac
			options+=($more)
		fi
		_describe -o option options
	elif [[ -z $source ]]; then
		sources+=($alone 'help:print help')
		_describe 'what to look at' sources
	elif [[ $source == help ]]; then
		verbs+=($sources $alone)
		_describe verb verbs
	elif [[ -n ${{alone[(r)$source:*]}} ]]; then
		_files
		compadd -- /proc/<->(:t)
	elif [[ -n $verb ]]; then
		_message 'expression'
	elif [[ $source == attach && $places -eq 0 ]]; then
		compadd -- /proc/<->(:t)
	else
		((places)) && _describe verb verbs
		[[ $source == core && $places -lt 2 ]] && _files
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
        value=_VALUE.format(values=_values()),
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

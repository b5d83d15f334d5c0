#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Make ./configure from configure.ac (after a checkout, or when it changed).
cd "$(dirname "$0")" || exit 1
for tool in autoreconf automake; do
	command -v $tool >/dev/null || {
		echo "autogen.sh: no $tool: apt-get install autoconf automake" >&2
		exit 1
	}
done
[ -w . ] || {
	echo "autogen.sh: cannot write to $PWD: copy the tree to a folder that" \
		"is yours, and run autogen.sh there" >&2
	exit 1
}
exec autoreconf -fi "$@"

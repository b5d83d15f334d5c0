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
exec autoreconf -fi "$@"

# SPDX-License-Identifier: Apache-2.0
# Packages of other suites of Debian, outside the package system: for fetch-go,
# fetch-glibc and fetch-allocators. The mirror is the one in the machine's own
# apt configuration.
# $cache is where lists and unpacked packages lie.
# shellcheck shell=sh disable=SC2154

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# The mirror that apt itself uses for Debian's main archive.
mirror() {
	apt-get indextargets --format '$(SITE) $(REPO_URI) $(ORIGIN)' \
		'Created-By: Packages' 2>/dev/null |
		awk '$3 == "Debian" && $2 !~ /security/ { print $2; exit }'
}

# Set up apt's private state for one suite; its lists are kept in the cache.
apt_private() {
	suite=$1
	root=$cache/apt-$suite
	mkdir -p "$root/lists/partial" "$root/archives/partial" \
		"$root/etc/preferences.d" "$root/etc/apt.conf.d" || return 1
	: >"$root/status"
	uri=$(mirror)
	[ -n "$uri" ] || uri=$(awk '/^URIs:/ && !/security/ { print $2; exit }
		$1 == "deb" && $2 !~ /security/ { print $2; exit }' \
		/etc/apt/sources.list.d/*.sources /etc/apt/sources.list \
		2>/dev/null)
	[ -n "$uri" ] || return 1
	echo "deb [signed-by=$keyring] $uri $suite main" >"$root/sources.list"
	aptopts="-o Dir::State=$root -o Dir::State::status=$root/status
		-o Dir::State::lists=$root/lists -o Dir::Cache=$root
		-o Dir::Cache::archives=$root/archives
		-o Dir::Etc::sourcelist=$root/sources.list
		-o Dir::Etc::sourceparts=/dev/null
		-o Dir::Etc::preferencesparts=/dev/null
		-o APT::Sandbox::User=root"
}

# Unpack packages of a suite into the new folder $work/tree. Prints the reason
# when it cannot.
unpack_packages() {
	apt_private "$1" || {
		echo "no Debian mirror found in apt's configuration"
		return 1
	}
	shift
	# shellcheck disable=SC2086
	apt-get $aptopts update >"$root/update.log" 2>&1 || {
		echo "apt-get update of $suite failed ($root/update.log)"
		return 1
	}
	work=$(mktemp -d "$cache/unpack.XXXXXX") || return 1
	# shellcheck disable=SC2086
	(cd "$work" && apt-get $aptopts download "$@") \
		>"$root/download.log" 2>&1 || {
		echo "$suite has no $1 that can be downloaded"
		rm -rf "$work"
		return 1
	}
	for deb in "$work"/*.deb; do
		dpkg -x "$deb" "$work/tree" || {
			echo "dpkg -x failed"
			rm -rf "$work"
			return 1
		}
	done
}

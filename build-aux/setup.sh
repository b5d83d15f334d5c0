# SPDX-License-Identifier: Apache-2.0
# Shared by quickstart, run-tests and make-tour: packages, and a build in a
# folder of its own. Sourced; the script that does so sets src and name.

say() {
	printf '%s: %s\n' "$name" "$*"
}

die() {
	printf '%s: %s\n' "$name" "$*" >&2
	exit 1
}

# need_writable FOLDER: before anything is written there.
need_writable() {
	[ -w "$1" ] ||
		die "cannot write to $1: copy the tree to a folder that is yours, and run $name there"
}

# Run a command quietly; its output only if it fails.
quietly() {
	what=$1
	log=$2
	shift 2
	"$@" >"$log" 2>&1 || {
		tail -n 30 "$log" >&2
		die "$what failed; all of its output is in $log"
	}
}

# install_missing FILE-OR-COMMAND:PACKAGE...: packages of what is not there.
# A name with a slash is a file, one without is a command.
install_missing() {
	missing=
	for pair in "$@"; do
		thing=${pair%%:*}
		package=${pair#*:}
		case $thing in
		/*) [ -e "$thing" ] || missing="$missing $package" ;;
		*) command -v "$thing" >/dev/null || missing="$missing $package" ;;
		esac
	done
	[ -n "$missing" ] || return 0
	if ! command -v apt-get >/dev/null; then
		die "please install (names are Debian's):$missing"
	fi
	if [ "$(id -u)" != 0 ]; then
		die "as root, please run: apt-get install$missing"
	fi
	say "installing$missing"
	log=$(mktemp)
	DEBIAN_FRONTEND=noninteractive
	export DEBIAN_FRONTEND
	# shellcheck disable=SC2086
	apt-get install -y --no-install-recommends $missing >"$log" 2>&1 || {
		quietly "apt-get update" "$log" apt-get update
		quietly "apt-get install$missing" "$log" \
			apt-get install -y --no-install-recommends $missing
	}
	rm -f "$log"
}

# The packages that the build needs, named as for install_missing: all at once,
# so that a user who is not root is told once.
install_build_packages() {
	include=/usr/include
	install_missing gcc:gcc make:make autoreconf:autoconf \
		automake:automake "$(python_headers)/Python.h:python3-dev" \
		"$include/libdwarf/libdwarf.h:libdwarf-dev" \
		"$include/elfutils/libdw.h:libdw-dev" \
		"$include/protobuf-c/protobuf-c.h:libprotobuf-c-dev" \
		protoc-c:protobuf-c-compiler "$include/zlib.h:zlib1g-dev" \
		"$include/zstd.h:libzstd-dev" "$include/uthash.h:uthash-dev" \
		"$include/capstone/capstone.h:libcapstone-dev" \
		"$include/bpf/libbpf.h:libbpf-dev" "$@"
}

# The folder of the headers of the Python that configure takes.
python_headers() {
	PATH=/usr/bin:$PATH "${PYTHON:-python3}" -I -c \
		'import sysconfig; print(sysconfig.get_path("include"))' \
		2>/dev/null || echo /usr/include/python3
}

processors() {
	nproc 2>/dev/null || echo 1
}

# Was it configured before cmocka was installed? quickstart does without.
cmocka_came_after() {
	[ -e /usr/include/cmocka.h ] &&
		grep -q '^S\["CMOCKA_LIBS"\]=""' "$1/config.status"
}

# The tree was moved or copied together with its build, which has its old place.
is_of_elsewhere() {
	[ -f "$1/loader/tree" ] && ! [ "$(cat "$1/loader/tree")" -ef "$src" ]
}

# configure_in FOLDER [CONFIGURE-OPTION]...: configure if needed.
configure_in() {
	dir=$1
	shift
	[ -d "$dir" ] || need_writable "$src"
	mkdir -p "$dir" || die "cannot make $dir"
	need_writable "$dir"
	if [ ! -f "$src/configure" ] ||
		[ "$src/configure.ac" -nt "$src/configure" ] ||
		[ "$src/Makefile.am" -nt "$src/Makefile.in" ]; then
		need_writable "$src"
		quietly autogen.sh "$dir/autogen.log" "$src/autogen.sh"
	fi
	if [ ! -f "$dir/Makefile" ] ||
		[ "$src/configure" -nt "$dir/config.status" ] ||
		is_of_elsewhere "$dir" || cmocka_came_after "$dir"; then
		say "configuring in $dir"
		# They name the sources where these were before.
		! is_of_elsewhere "$dir" ||
			find "$dir" -name .deps -prune -exec rm -rf {} +
		(cd "$dir" && "$src/configure" -q "$@") >"$dir/configure.log" 2>&1 || {
			# All that is missing stands at the end.
			sed -n '/error: /,$p' "$dir/configure.log" >&2
			die "configure failed; all of its output is in $dir/configure.log"
		}
	fi
}

# build_in FOLDER [CONFIGURE-OPTION]...: configure if needed, and make.
build_in() {
	configure_in "$@"
	say "building in $dir"
	quietly "the build" "$dir/make.log" make -C "$dir" -j"$(processors)"
}

# Before packages are installed for a build that cannot succeed.
need_buildable_tree() {
	# configure refuses some characters without a word of which one it means.
	case $src in
	*[[:space:]\"\#\$\&\'\`\\]*)
		die "$src has a character that configure refuses in a path" \
			"(a space, \", #, \$, &, ', \` or \\): put the tree elsewhere"
		;;
	esac
	[ -w "$src/build" ] || need_writable "$src"
}

# SPDX-License-Identifier: Apache-2.0
# How run-tests runs suites and counts their tests: a suite that does not run to
# its end is a failure with its name. To be sourced after setup.sh, in the top
# folder.

total_passed=0 total_failed=0 total_skipped=0
failed_suites=

# sum_up SUITE PASSED FAILED SKIPPED
sum_up() {
	say "$1: $2 passed, $3 failed, $4 skipped"
	total_passed=$((total_passed + $2))
	total_failed=$((total_failed + $3))
	total_skipped=$((total_skipped + $4))
	[ "$3" = 0 ] || failed_suites="$failed_suites $1"
}

# lost SUITE REASON [PASSED [FAILED [SKIPPED]]]: it did not run to its end,
# which is one more failure.
lost() {
	say "FAILED $1: $2"
	sum_up "$1" "${3:-0}" $((${4:-0} + 1)) "${5:-0}"
}

# The last lines of a run, and its exit status.
finish() {
	echo
	[ -z "$failed_suites" ] || say "FAILED:$failed_suites"
	echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
	[ "$total_failed" = 0 ]
}

# keep_status FILE COMMAND...: for a command in a pipe, whose status sh drops.
keep_status() {
	status_file=$1
	rm -f "$status_file"
	shift
	"$@"
	echo $? >"$status_file"
}

kept_status() {
	cat "$1" 2>/dev/null || echo none
}

# A suite in the background ignores Ctrl-C: it ends with this script, if a shell
# has started that as a job of its own.
end_all() {
	trap - INT TERM
	group=$(sed 's/.*) //' "/proc/$$/stat" | cut -d' ' -f3)
	[ "$group" != "$$" ] || kill -TERM 0
	exit 130
}

# beside NAME COMMAND...: run a suite in the background. The names of failures are
# printed as they happen.
beside() {
	beside=$1
	trap end_all INT TERM
	rm -f "build/$beside.counts"
	shift
	{
		(
			total_passed=0 total_failed=0 total_skipped=0 failed_suites=
			"$@"
			echo "$total_passed $total_failed $total_skipped $failed_suites" \
				>"build/$beside.counts"
		) 2>&1 | tee "build/$beside.out" |
			grep --line-buffered -E '^(FAILED|ERROR) |: FAILED '
	} &
	beside_pid=$!
}

# Print the output of the suite in the background, and take over its counts.
join_it() {
	wait "$beside_pid"
	trap - INT TERM
	cat "build/$beside.out"
	if read -r passed broken skipped suites <"build/$beside.counts"; then
		total_passed=$((total_passed + passed))
		total_failed=$((total_failed + broken))
		total_skipped=$((total_skipped + skipped))
		failed_suites="$failed_suites${suites:+ $suites}"
	else
		lost "$beside" "it did not come to its end"
	fi
}

# -------------------------------------------------------------------- pytest

# Its last line is read: no option of the environment may change that.
pytest() {
	env -u PYTEST_ADDOPTS GOREF_BUILD_DIR="$src/build" \
		/usr/bin/python3 -u -m pytest -q -rs --color=no "$@" 2>&1
}

# counted WORD SUMMARY: the number before a word in pytest's last line.
counted() {
	printf '%s\n' "$2" | sed -n "s/^\\(.*[^0-9]\\)\\{0,1\\}\\([0-9][0-9]*\\) $1.*/\\2/p"
}

# why_not_whole STATUS SUMMARY FAILED: nothing if pytest came to its end.
why_not_whole() {
	case $1 in
	0 | 5) [ -n "$2" ] || echo "pytest ended without a summary" ;;
	1) [ "$3" != 0 ] || echo "pytest ended with status 1, and names no failure" ;;
	*) echo "pytest ended with status $1" ;;
	esac
}

# run_pytest SUITE whole|selected [PYTEST-ARGUMENT]...: where tests are selected,
# there may be none.
run_pytest() {
	suite=$1 pytest_log=build/pytest-$1.log extent=$2
	shift 2
	# The next run begins with the files that cost most in this one.
	[ "$extent" = selected ] || set -- --costs "build/pytest-$suite.json" "$@"
	keep_status "build/pytest-$suite.status" pytest "$@" | tee "$pytest_log"
	status=$(kept_status "build/pytest-$suite.status")
	summary=$(grep -E '^=* ?([0-9]+ [a-z]+(, [0-9]+ [a-z]+)*|no tests ran) in [0-9.]+' \
		"$pytest_log" | tail -n 1)
	passed=$(counted passed "$summary")
	broken=$(counted failed "$summary")
	errors=$(counted error "$summary")
	skipped=$(counted skipped "$summary")
	broken=$((${broken:-0} + ${errors:-0}))
	reason=$(why_not_whole "$status" "$summary" "$broken")
	if [ "$status" = 5 ] && [ "$extent" = whole ]; then
		reason="there is no test"
	elif [ "$status" = 5 ]; then
		say "$suite: no test is selected"
	fi
	set -- "${passed:-0}" "$broken" "${skipped:-0}"
	if [ -n "$reason" ]; then
		lost "$suite" "$reason; its output is in $pytest_log" "$@"
	else
		sum_up "$suite" "$@"
	fi
}

# ---------------------------------------------------------------- make check

# count_checks LOG WORD: automake's count.
count_checks() {
	count=$(sed -n "s/^# $2: *\\([0-9]*\\).*/\\1/p" "$1" | tail -n 1)
	echo "${count:-0}"
}

# The output of the tests that failed, without the rows that passed.
show_failures() {
	sed -n 's/^\(FAIL\|ERROR\|XPASS\): //p' "$1/check.log" | sort -u |
		while read -r test; do
			[ -f "$1/$test.log" ] || continue
			echo "--- $test"
			grep -vE '^\[ +(RUN|OK) +\]' "$1/$test.log" | tail -n 40
		done
}

# make_check FOLDER TARGET: tests of automake in a build folder.
make_check() {
	dir=$1
	say "unit tests and checks in $dir"
	keep_status "$dir/check.status" make -C "$dir" "$2" -j"$(processors)" \
		2>&1 | tee "$dir/check.log" |
		grep --line-buffered -E '^(FAIL|ERROR|XPASS): '
	show_failures "$dir"
	status=$(kept_status "$dir/check.status")
	passed=$(count_checks "$dir/check.log" PASS)
	skipped=$(count_checks "$dir/check.log" SKIP)
	broken=$(($(count_checks "$dir/check.log" FAIL) +
		$(count_checks "$dir/check.log" ERROR) +
		$(count_checks "$dir/check.log" XPASS)))
	# For example, a test program does not build.
	if [ "$status" != 0 ] && [ "$broken" = 0 ]; then
		tail -n 30 "$dir/check.log"
		lost "$dir" "make check ended with status $status; see $dir/check.log" \
			"$passed" 0 "$skipped"
	elif [ "$passed$broken" = 00 ]; then
		lost "$dir" "make check ran no test; see $dir/check.log" \
			0 0 "$skipped"
	else
		sum_up "$dir" "$passed" "$broken" "$skipped"
	fi
}

# ------------------------------------------------------------------- fuzzers

# run_make_fuzz FOLDER SECONDS: testsuite/fuzz/run has a line for each fuzzer
# and Go release.
run_make_fuzz() {
	dir=$1
	keep_status "$dir/fuzz.status" make -s -C "$dir" fuzz FUZZ_SECONDS="$2" \
		2>&1 | tee "$dir/fuzz.log"
	status=$(kept_status "$dir/fuzz.status")
	passed=$(grep -c '^fuzz_' "$dir/fuzz.log")
	broken=$(grep -c '^FAILED ' "$dir/fuzz.log")
	if [ "$passed$broken" = 00 ] ||
		{ [ "$status" != 0 ] && [ "$broken" = 0 ]; }; then
		lost fuzzers "make fuzz ended with status $status" "$passed"
	else
		sum_up fuzzers "$passed" "$broken" 0
	fi
}

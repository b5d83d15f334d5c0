/* SPDX-License-Identifier: Apache-2.0 */
/**
 * cmocka: the compiler finds this header before the library's own, so that no
 * test can do without it. A check of an error prints what the error says, not
 * only the expression.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include_next <cmocka.h>

#include "base/error.h"

/** Fail with the error's text, if there is an error. */
static inline void check_no_error(struct gr_error *err, const char *expression,
				  const char *file, int line)
{
	if (!err)
		return;
	print_error("%s: %s\n", expression, err->message);
	gr_error_destroy(err);
	_fail(file, line);
}

static inline void check_null(const void *p, const char *expression,
			      const char *file, int line)
{
	_assert_true(!p, expression, file, line);
}

/** Fail if there is none. */
static inline void check_error(const struct gr_error *err,
			       const char *expression, const char *file,
			       int line)
{
	if (err)
		return;
	print_error("%s: no error, where one is due\n", expression);
	_fail(file, line);
}

static inline void check_non_null(const void *p, const char *expression,
				  const char *file, int line)
{
	_assert_true(!!p, expression, file, line);
}

#undef assert_null
#define assert_null(c)                     \
	_Generic((c), struct gr_error *    \
		 : check_no_error, default \
		 : check_null)((c), #c, __FILE__, __LINE__)

#undef assert_non_null
#define assert_non_null(c)              \
	_Generic((c), struct gr_error * \
		 : check_error, default \
		 : check_non_null)((c), #c, __FILE__, __LINE__)

/** Fail unless @p err is an error of the kind @p code; it is kept. */
static inline void check_error_code(const struct gr_error *err,
				    enum gr_error_code code,
				    const char *expression, const char *file,
				    int line)
{
	check_error(err, expression, file, line);
	if (err->code == code)
		return;
	print_error("%s: kind %d instead of %d: %s\n", expression, err->code,
		    code, err->message);
	_fail(file, line);
}

#define assert_error_code(err, code) \
	check_error_code(err, code, #err, __FILE__, __LINE__)

/** The same, with @p message in its text, if that is not NULL; destroys it. */
static inline void check_fails(struct gr_error *err, enum gr_error_code code,
			       const char *message, const char *expression,
			       const char *file, int line)
{
	check_error_code(err, code, expression, file, line);
	if (message && !strstr(err->message, message)) {
		print_error("\"%s\" is not in \"%s\"\n", message, err->message);
		_fail(file, line);
	}
	gr_error_destroy(err);
}

#define assert_fails(err, code, message) \
	check_fails(err, code, message, #err, __FILE__, __LINE__)

// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct gr_error gr_enomem = {
	.code = GR_ERROR_NO_MEMORY,
	.message = (char *)"out of memory",
};

static struct gr_error *error_create(enum gr_error_code code, char *message)
{
	struct gr_error *err = malloc(sizeof(*err));
	if (!err) {
		free(message);
		return &gr_enomem;
	}
	err->code = code;
	err->message = message;
	return err;
}

struct gr_error *gr_error_format(enum gr_error_code code, const char *fmt, ...)
{
	char *message;
	va_list ap;

	va_start(ap, fmt);
	int n = vasprintf(&message, fmt, ap);
	va_end(ap);
	if (n < 0)
		return &gr_enomem;
	// It stays on one line, whatever it quotes.
	gr_text_make_printable(message, (size_t)n);
	return error_create(code, message);
}

struct gr_error *gr_error_fault(uint64_t addr, uint64_t bytes)
{
	return gr_error_format(GR_ERROR_FAULT,
			       "cannot read %" PRIu64
			       " bytes of target memory at 0x%" PRIx64,
			       bytes, addr);
}

struct gr_error *gr_error_not_saved(void)
{
	return gr_error_format(GR_ERROR_NOT_SAVED,
			       "this file was saved without values: it does "
			       "not have what the answer needs (`goref save "
			       "--values' keeps all values)");
}

struct gr_error *gr_error_prefix(struct gr_error *err, const char *fmt, ...)
{
	char *prefix, *message;
	va_list ap;

	if (err == &gr_enomem)
		return err;
	va_start(ap, fmt);
	int n = vasprintf(&prefix, fmt, ap);
	va_end(ap);
	if (n < 0) {
		gr_error_destroy(err);
		return &gr_enomem;
	}
	n = asprintf(&message, "%s%s", prefix, err->message);
	free(prefix);
	if (n < 0) {
		gr_error_destroy(err);
		return &gr_enomem;
	}
	gr_text_make_printable(message, (size_t)n);
	free(err->message);
	err->message = message;
	return err;
}

void gr_error_destroy(struct gr_error *err)
{
	if (!err || err == &gr_enomem)
		return;
	free(err->message);
	free(err);
}

bool gr_error_catch(struct gr_error **errp, enum gr_error_code code)
{
	if (!*errp || (*errp)->code != code)
		return false;
	gr_error_destroy(*errp);
	*errp = NULL;
	return true;
}

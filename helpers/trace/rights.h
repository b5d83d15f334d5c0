/* SPDX-License-Identifier: Apache-2.0 */
/** rights: why this machine, this user or this kernel permits no tracing. */
#ifndef GR_TRACE_RIGHTS_H
#define GR_TRACE_RIGHTS_H

#include <sys/types.h>

#include "base/base.h"
#include "base/error.h"

/** Read the effective capabilities from the text of /proc/PID/status. */
bool gr_rights_capabilities(const char *status, uint64_t *ret);

/** The capabilities that are missing, in words; NULL if none is. */
const char *gr_rights_missing(uint64_t capabilities);

/**
 * Say what is missing to read a process's memory.
 *
 * @param may_open Do the mode and the owner of its file permit it?
 */
const char *gr_rights_to_read(uint64_t capabilities, bool may_open);

/** Does /sys/kernel/security/lockdown say that the kernel keeps its secrets? */
bool gr_rights_is_locked(const char *lockdown);

/** Why a program or a probe was refused with this error number. */
struct gr_error *gr_rights_error(const char *what, int number)
	__attribute__((__returns_nonnull__)) GR_MUST_CHECK;

/** Check what can be known of BPF before anything is loaded. */
struct gr_error *gr_rights_check_bpf(void) GR_MUST_CHECK;

/** Check that the memory of the process may be read. */
struct gr_error *gr_rights_check_process(pid_t pid) GR_MUST_CHECK;

#endif /* GR_TRACE_RIGHTS_H */

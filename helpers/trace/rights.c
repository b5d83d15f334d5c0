// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

static bool has(uint64_t capabilities, int number)
{
	return capabilities >> number & 1;
}

// -------------------------------------------------------------------- parsers

bool gr_rights_capabilities(const char *status, uint64_t *ret)
{
	const char *line = strstr(status, "\nCapEff:");
	char *end;

	if (!line)
		return false;
	line += strlen("\nCapEff:");
	*ret = strtoull(line, &end, 16);
	return end != line && *end == '\n';
}

const char *gr_rights_missing(uint64_t capabilities)
{
	if (has(capabilities, CAP_SYS_ADMIN))
		return NULL;
	if (has(capabilities, CAP_BPF) && has(capabilities, CAP_PERFMON))
		return NULL;
	if (has(capabilities, CAP_BPF))
		return "CAP_PERFMON";
	if (has(capabilities, CAP_PERFMON))
		return "CAP_BPF";
	return "root, or CAP_BPF with CAP_PERFMON";
}

const char *gr_rights_to_read(uint64_t capabilities, bool may_open)
{
	if (!has(capabilities, CAP_SYS_PTRACE))
		return may_open ? "CAP_SYS_PTRACE is missing" :
				  "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH are "
				  "missing";
	return may_open ? "a user namespace or a security module refuses it" :
			  "CAP_DAC_READ_SEARCH is missing";
}

bool gr_rights_is_locked(const char *lockdown)
{
	return strstr(lockdown, "[confidentiality]") != NULL;
}

// --------------------------------------------------------------------- checks

/** Read the beginning of a small file; empty if it is not there. */
static void read_text(const char *path, char *buf, size_t bytes)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, bytes - 1);

	buf[n < 0 ? 0 : n] = '\0';
}

static bool read_capabilities(uint64_t *ret)
{
	char text[4096];

	read_text("/proc/self/status", text, sizeof(text));
	return gr_rights_capabilities(text, ret);
}

static struct gr_error *check_capabilities(void)
{
	uint64_t capabilities;

	if (!read_capabilities(&capabilities))
		return NULL;
	const char *missing = gr_rights_missing(capabilities);
	if (!missing)
		return NULL;
	return gr_error_format(GR_ERROR_PROCESS,
			       "not permitted to load BPF programs without %s",
			       missing);
}

static struct gr_error *check_kernel(void)
{
	char text[256];

	read_text("/sys/kernel/security/lockdown", text, sizeof(text));
	if (gr_rights_is_locked(text))
		return gr_error_format(
			GR_ERROR_PROCESS,
			"the kernel is locked down (confidentiality): BPF "
			"programs may read no memory");
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return gr_error_format(GR_ERROR_PROCESS,
				       "the kernel has no BTF "
				       "(/sys/kernel/btf/vmlinux)");
	return NULL;
}

/* A container may refuse the call in spite of all capabilities. */
static struct gr_error *check_call(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = 4,
		.max_entries = 1,
	};
	_cleanup_close_ int fd =
		(int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));

	return fd >= 0 ? NULL : gr_rights_error("the call bpf()", errno);
}

struct gr_error *gr_rights_error(const char *what, int number)
{
	if (number == ENOSYS)
		return gr_error_format(
			GR_ERROR_PROCESS,
			"the call bpf() does not exist: the kernel "
			"has no BPF, or a sandbox hides it");
	if (number == EPERM || number == EACCES)
		return gr_error_format(
			GR_ERROR_PROCESS,
			"%s: not permitted: a container "
			"(seccomp), a user namespace, a security "
			"module or the BPF verifier refuses it",
			what);
	if (number == ENOENT || number == EINVAL || number == EOPNOTSUPP)
		return gr_error_format(
			GR_ERROR_PROCESS,
			"%s: this kernel does not support it: %s", what,
			strerror(number));
	return gr_error_format(GR_ERROR_PROCESS, "%s: %s", what,
			       strerror(number));
}

struct gr_error *gr_rights_check_bpf(void)
{
	struct gr_error *err = check_capabilities();

	if (!err)
		err = check_kernel();
	return err ? err : check_call();
}

struct gr_error *gr_rights_check_process(pid_t pid)
{
	uint64_t capabilities = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return NULL;
	int number = errno;
	if (number == ENOENT)
		return gr_error_format(GR_ERROR_PROCESS,
				       "/proc does not show the process");
	bool may_open = !faccessat(AT_FDCWD, path, R_OK, AT_EACCESS);
	read_capabilities(&capabilities);
	return gr_error_format(GR_ERROR_PROCESS,
			       "not permitted to read the process: %s (%s)",
			       strerror(number),
			       gr_rights_to_read(capabilities, may_open));
}

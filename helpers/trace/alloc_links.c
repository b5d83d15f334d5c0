// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/alloc_links.h"

#include <errno.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "helpers/trace/rights.h"

/** Attach a program to places of one file, in one step. */
static struct gr_error *add_multi(struct gr_alloc_links *l,
				  const struct bpf_program *program,
				  enum gr_sampler_when when, pid_t pid,
				  const struct gr_sampler_places *places)
{
	int fd = gr_sampler_attach_many(program, when, pid, places);

	if (fd < 0)
		return gr_rights_error("probes in the process's code", -fd);
	GR_ASSERT(l->nfds < GR_ARRAY_SIZE(l->fds));
	l->fds[l->nfds++] = fd;
	return NULL;
}

static struct gr_error *add_event(struct gr_alloc_links *l,
				  const struct bpf_program *program,
				  enum gr_sampler_when when,
				  const struct gr_sampler_places *places,
				  size_t i)
{
	DECLARE_LIBBPF_OPTS(bpf_uprobe_opts, opts,
			    .bpf_cookie = places->cookies[i],
			    .retprobe = when == GR_SAMPLER_RETURN);
	struct bpf_link *link = bpf_program__attach_uprobe_opts(
		program, -1, places->path, places->offsets[i], &opts);

	if (!link)
		return gr_rights_error("probes in the process's code, as perf "
				       "events",
				       errno);
	GR_ASSERT(l->nevents < GR_ARRAY_SIZE(l->events));
	l->events[l->nevents++] = link;
	return NULL;
}

struct gr_error *gr_alloc_links_add(struct gr_alloc_links *l,
				    enum gr_alloc_way way,
				    const struct bpf_program *program,
				    enum gr_sampler_when when, pid_t pid,
				    const struct gr_sampler_places *places)
{
	struct gr_error *err = NULL;

	if (!places->count)
		return NULL;
	if (way != GR_ALLOC_PERF)
		return add_multi(l, program, when, pid, places);
	for (size_t i = 0; !err && i < places->count; i++)
		err = add_event(l, program, when, places, i);
	return err;
}

void gr_alloc_links_end(struct gr_alloc_links *l)
{
	while (l->nfds)
		close(l->fds[--l->nfds]);
	while (l->nevents)
		bpf_link__destroy(l->events[--l->nevents]);
}

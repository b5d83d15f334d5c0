// SPDX-License-Identifier: Apache-2.0
/* Source: net/fd_posix.go (netFD), net/tcpsock.go (TCPAddr), net/udpsock.go,
 * net/unixsock.go (UnixAddr), net/ip.go (IP). */
#include "goroutines/network.h"

#include "goroutines/thread_call.h"
#include "goruntime/layout/inline.h"
#include "goruntime/layout/names.h"
#include "goruntime/sched/live_words.h"
#include "goruntime/sched/polled.h"
#include "inferior/recorder.h"
#include "scan/stop.h"

#include <arpa/inet.h>
#include <inttypes.h>

enum {
	MAX_SOCKET_FRAMES = 5, /* from poll.FD to net.netFD */
	MAX_DIAL_FRAMES = 4,   /* from netFD.connect to what calls netFD.dial */
	DIAL_WORDS = 8,	       /* of the arguments of netFD.dial */
	WORD_STEPS = 4,
	MAX_TEXT_BYTES = 256, /* of a path, a zone or the name of a network */
	IPV4_BYTES = 4,
	IPV6_BYTES = 16,
	MAPPED_BYTES = 12, /* before the IPv4 address in an IPv6 one */
};

// ---------------------------------------------------------------- the memory

/* Read what may not have been captured; *@p found is false if it is not there.
 */
static struct gr_error *read_late(struct gr_runtime *rt, uint64_t addr,
				  void *buf, uint64_t bytes, bool *found)
{
	struct gr_error *err = gr_image_read_late(rt->image, addr, buf, bytes);

	*found = !gr_error_catch(&err, GR_ERROR_FAULT) &&
		 !gr_error_catch(&err, GR_ERROR_NOT_SAVED) && !err;
	return err;
}

/* Read the string or the slice of bytes whose header is at @p addr; at most
 * @p capacity bytes. *@p bytes is 0 if it is not known. */
static struct gr_error *read_bytes(struct gr_runtime *rt, uint64_t addr,
				   void *buf, uint64_t capacity,
				   uint64_t *bytes)
{
	uint64_t header[2];
	bool found;
	struct gr_error *err =
		read_late(rt, addr, header, sizeof(header), &found);

	*bytes = 0;
	if (err || !found || !header[0] || !header[1] || header[1] > capacity)
		return err;
	err = read_late(rt, header[0], buf, header[1], &found);
	if (!err && found)
		*bytes = header[1];
	return err;
}

/* Read a string into the arena; "" if it is not known. */
static struct gr_error *read_string(struct gr_runtime *rt, uint64_t addr,
				    const char **ret)
{
	char text[MAX_TEXT_BYTES];
	uint64_t bytes;
	struct gr_error *err = read_bytes(rt, addr, text, sizeof(text), &bytes);

	*ret = "";
	if (err || !bytes || memchr(text, 0, bytes))
		return err;
	*ret = gr_arena_intern(rt->arena, text, bytes);
	return *ret ? NULL : &gr_enomem;
}

// ----------------------------------------------------------------- addresses

/* Write an IP address as Go does; "" for none. */
static void put_ip(const uint8_t *ip, uint64_t bytes, char *ret, size_t size)
{
	static const uint8_t mapped[MAPPED_BYTES] = { [10] = 0xff, [11] = 0xff };
	bool is_mapped = bytes == IPV6_BYTES &&
			 !memcmp(ip, mapped, sizeof(mapped));
	const char *text = "";

	if (is_mapped || bytes == IPV4_BYTES)
		text = inet_ntop(AF_INET, is_mapped ? ip + MAPPED_BYTES : ip,
				 ret, size);
	else if (bytes == IPV6_BYTES)
		text = inet_ntop(AF_INET6, ip, ret, size);
	if (!text || !*text)
		*ret = '\0';
}

/* `127.0.0.1:80`, `[fe80::1%eth0]:80`; an IPAddr has no port. */
static struct gr_error *ip_text(struct gr_runtime *rt, uint64_t addr,
				const struct gr_type_field *ip,
				const struct gr_type_field *port,
				const struct gr_type_field *zone,
				const char **ret)
{
	const struct gr_field word = { 0, 8 };
	char host[INET6_ADDRSTRLEN];
	uint8_t raw[IPV6_BYTES];
	const char *scope = "";
	uint64_t bytes, number = 0;
	struct gr_error *err =
		read_bytes(rt, addr + ip->off_bytes, raw, sizeof(raw), &bytes);

	if (!err && zone)
		err = read_string(rt, addr + zone->off_bytes, &scope);
	if (!err && port)
		err = gr_runtime_read_field(rt, addr + port->off_bytes, word,
					    &number);
	if (err)
		return err;
	put_ip(raw, bytes, host, sizeof(host));
	bool is_v6 = strchr(host, ':');
	const char *mark = *scope ? "%" : "";
	if (!port)
		*ret = gr_arena_internf(rt->arena, "%s%s%s", host, mark, scope);
	else
		*ret = gr_arena_internf(rt->arena,
					is_v6 ? "[%s%s%s]:%" PRIu64 :
						"%s%s%s:%" PRIu64,
					host, mark, scope, number);
	return *ret ? NULL : &gr_enomem;
}

/* The text of the net.Addr whose two words these are; "" if it is none. */
static struct gr_error *interface_text(struct gr_program *program,
				       const uint64_t *words, const char **ret)
{
	const struct gr_types *types = program->types;
	gr_type_id id = GR_TYPE_NONE;
	struct gr_error *err =
		gr_types_from_itab(program->types, words[0], &id);

	*ret = "";
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err || id == GR_TYPE_NONE ||
	    gr_types_get(types, id)->kind != GR_KIND_PTR ||
	    gr_types_get(types, id)->elem == GR_TYPE_NONE)
		return err;
	id = gr_types_get(types, id)->elem;
	if (strncmp(gr_types_get(types, id)->name, "net.", 4) != 0)
		return NULL;
	const struct gr_type_field *ip = gr_types_field_named(types, id, "IP");
	const struct gr_type_field *name =
		gr_types_field_named(types, id, "Name");
	if (ip)
		return ip_text(&program->rt, words[1], ip,
			       gr_types_field_named(types, id, "Port"),
			       gr_types_field_named(types, id, "Zone"), ret);
	return name ? read_string(&program->rt, words[1] + name->off_bytes,
				  ret) :
		      NULL;
}

/* The text of the net.Addr at @p addr, an interface; "" if there is none. */
static struct gr_error *address_text(struct gr_program *program, uint64_t addr,
				     const char **ret)
{
	uint64_t words[2];
	bool found;
	struct gr_error *err =
		read_late(&program->rt, addr, words, sizeof(words), &found);

	*ret = "";
	return err || !found || !words[0] || !words[1] ?
		       err :
		       interface_text(program, words, ret);
}

// --------------------------------------------------------------- connections

/* Does what would be an interface table at @p addr lead to a type record? Words
 * of a stack may be anything. */
static struct gr_error *is_itab(const struct gr_runtime *rt, uint64_t addr,
				bool *ret)
{
	uint64_t type = 0;
	struct gr_error *err =
		addr % GR_WORD_BYTES ?
			NULL :
			gr_image_read_u64(rt->image,
					  addr + rt->layout.itab.type.off,
					  &type);

	*ret = false;
	gr_error_catch(&err, GR_ERROR_FAULT);
	for (size_t i = 0; !err && !*ret && i < rt->nmodules; i++)
		*ret = type >= rt->modules[i].types &&
		       type < rt->modules[i].etypes;
	return err;
}

/* Does what lies at @p addr begin as a net.TCPAddr, with an IP address and a
 * port? */
static struct gr_error *is_address(struct gr_runtime *rt, uint64_t addr,
				   bool *ret)
{
	uint64_t words[4]; /* data, length and capacity of the IP; the port */
	struct gr_error *err = read_late(rt, addr, words, sizeof(words), ret);

	*ret = *ret && (words[1] == IPV4_BYTES || words[1] == IPV6_BYTES) &&
	       words[2] >= words[1] && words[2] <= IPV6_BYTES &&
	       words[3] <= UINT16_MAX;
	return err;
}

/** An address that is looked for in frames. */
struct dialled {
	struct gr_program *program;
	const struct gr_goroutine *g;
	const char *text;  /* the last one that was found, or "" */
	bool is_ambiguous; /* there were others */
};

static uint64_t word_at(const struct dialled *d, uint64_t addr)
{
	const struct gr_area *stack = &d->g->stack;

	return addr >= stack->start && addr < stack->end &&
			       stack->end - addr >= GR_WORD_BYTES ?
		       gr_load_u64(stack->host + addr - stack->start) :
		       0;
}

/* Look at two words that may be an interface. */
static struct gr_error *try_pair(struct dialled *d, uint64_t itab,
				 uint64_t data)
{
	const uint64_t words[2] = { itab, data };
	const char *text = "";
	bool found = false;
	struct gr_error *err = is_address(&d->program->rt, data, &found);

	if (!err && found)
		err = is_itab(&d->program->rt, itab, &found);
	if (!err && found)
		err = interface_text(d->program, words, &text);
	if (err || !*text)
		return err;
	d->is_ambiguous |= *d->text && strcmp(d->text, text) != 0;
	d->text = text;
	return NULL;
}

/* Look at each live word of the frame, and the word before it, as an interface.
 */
static struct gr_error *try_live(struct dialled *d,
				 const struct gr_frame *frame)
{
	struct gr_live_words words = gr_live_words(d->g, frame);
	struct gr_error *err = NULL;
	uint64_t data;

	while (!err && gr_live_words_next(&words, &data)) {
		uint64_t before = words.next - 2 * GR_WORD_BYTES;

		err = gr_runtime_step(&d->program->rt, WORD_STEPS);
		if (!err)
			err = try_pair(d, word_at(d, before), data);
	}
	return err;
}

/* The compiler may keep the two words of an interface apart: the data where the
 * function's arguments are spilled, the table among its variables. If two
 * different addresses fit, neither is taken. */
static struct gr_error *try_apart(struct dialled *d,
				  const struct gr_frame *frame)
{
	uint64_t most = frame->sp + GR_MAX_FRAME_WORDS * GR_WORD_BYTES;
	uint64_t end = frame->fp < most ? frame->fp : most;
	struct gr_error *err = NULL;

	d->is_ambiguous = false;
	for (uint64_t i = 0; !err && i < DIAL_WORDS; i++) {
		uint64_t data = word_at(d, frame->fp + i * GR_WORD_BYTES);
		bool found = false;

		if (data)
			err = is_address(&d->program->rt, data, &found);
		for (uint64_t at = frame->sp; !err && found && at < end;
		     at += GR_WORD_BYTES) {
			err = gr_runtime_step(&d->program->rt, WORD_STEPS);
			if (!err)
				err = try_pair(d, word_at(d, at), data);
		}
	}
	if (d->is_ambiguous)
		d->text = "";
	return err;
}

/* Find where a connection is being made to. The socket does not know it yet, but
 * netFD.dial will need its argument `raddr` again, which lies behind `laddr`. */
static struct gr_error *find_dialled(struct gr_program *program,
				     const struct gr_goroutine *g,
				     const struct gr_frame *first,
				     const char **ret)
{
	size_t i = first - g->frames, end = i + MAX_DIAL_FRAMES;
	struct dialled d = { program, g, "", false };
	struct gr_error *err = NULL;

	if (!g->stack.host)
		return NULL;
	for (; !err && !*d.text && i < g->nframes && i < end; i++) {
		err = try_live(&d, &g->frames[i]);
		if (!err && !*d.text)
			err = try_apart(&d, &g->frames[i]);
	}
	*ret = d.text;
	return err;
}

// ------------------------------------------------------------------- sockets

/** The findings from the calls between the poller and the user. */
struct calls {
	bool is_socket, is_accept, is_connect;
	const struct gr_frame *socket; /* the method of netFD; or NULL */
};

/* Look at the calls of the frame that waits, and of those that called it. */
static struct gr_error *look_at_calls(struct gr_runtime *rt,
				      const struct gr_goroutine *g,
				      const struct gr_frame *first,
				      struct calls *ret)
{
	struct gr_logical_frame calls[GR_MAX_INLINED];
	struct gr_error *err = NULL;
	size_t n, i = first - g->frames;

	*ret = (struct calls){ .socket = NULL };
	for (size_t end = i + MAX_SOCKET_FRAMES;
	     !err && i < g->nframes && i < end && !ret->is_socket; i++) {
		const struct gr_frame *frame = &g->frames[i];

		err = gr_inline_frames(rt, frame->func, gr_frame_call_pc(frame),
				       calls, &n);
		for (size_t j = 0; !err && j < n; j++) {
			const char *name = calls[j].function;

			ret->is_accept |= strstr(name, "Accept") != NULL;
			ret->is_connect |= strstr(name, ").connect") != NULL;
			ret->is_socket |= gr_name_has(name, GR_NAME_OF_SOCKET);
		}
		ret->socket = ret->is_socket ? frame : NULL;
	}
	return err;
}

static bool has_layout(const struct gr_runtime *rt)
{
	const typeof(rt->layout.net_fd) *f = &rt->layout.net_fd;

	return gr_field_is_present(f->net) && gr_field_is_present(f->laddr) &&
	       gr_field_is_present(f->raddr);
}

/* Is this one of Go's own names? A program cannot choose another one, except
 * for the protocol of raw sockets. */
static bool is_known_network(const char *text)
{
	static const char *const known[] = { "tcp",  "tcp4",	 "tcp6",
					     "udp",  "udp4",	 "udp6",
					     "unix", "unixgram", "unixpacket",
					     "ip",   "ip4",	 "ip6" };

	for (size_t i = 0; i < GR_ARRAY_SIZE(known); i++)
		if (!strcmp(text, known[i]))
			return true;
	return false;
}

/* Read the name of the network. A file without values has Go's own names. */
static struct gr_error *read_network(struct gr_runtime *rt, uint64_t addr,
				     const char **ret)
{
	size_t mark = gr_recorder_search(rt->recorder);
	struct gr_error *err = read_string(rt, addr, ret);

	gr_recorder_end_search(rt->recorder, mark,
			       !err && is_known_network(*ret));
	return err;
}

/* Does the socket have an address in the interface at @p addr? */
static struct gr_error *has_address(struct gr_runtime *rt, uint64_t addr,
				    bool *ret)
{
	uint64_t itab = 0;
	bool found;
	struct gr_error *err = read_late(rt, addr, &itab, sizeof(itab), &found);

	*ret |= found && itab;
	return err;
}

/* The network, and whether there are addresses. */
static struct gr_error *describe_kind(struct gr_runtime *rt, uint64_t fd,
				      struct gr_network *ret)
{
	const typeof(rt->layout.net_fd) *f = &rt->layout.net_fd;
	struct gr_error *err = read_network(rt, fd + f->net.off, &ret->network);

	if (!err)
		err = has_address(rt, fd + f->laddr.off, &ret->has_unsaved);
	return err ? err :
		     has_address(rt, fd + f->raddr.off, &ret->has_unsaved);
}

static struct gr_error *describe_ends(struct gr_program *program,
				      const struct gr_goroutine *g,
				      const struct calls *calls, uint64_t fd,
				      struct gr_network *ret)
{
	const typeof(program->rt.layout.net_fd) *f = &program->rt.layout.net_fd;
	struct gr_error *err = NULL;

	if (has_layout(&program->rt))
		err = address_text(program, fd + f->laddr.off, &ret->local);
	if (!err && has_layout(&program->rt))
		err = address_text(program, fd + f->raddr.off, &ret->remote);
	return err || !calls->is_connect || *ret->remote ?
		       err :
		       find_dialled(program, g, calls->socket, &ret->remote);
}

/* Describe a socket. Its addresses are values: they are searched and read, but
 * not recorded. */
static struct gr_error *describe_socket(struct gr_stop *stop,
					const struct gr_goroutine *g,
					const struct calls *calls,
					uint64_t poll_fd,
					struct gr_network *ret)
{
	const typeof(stop->program->rt.layout.net_fd) *f =
		&stop->program->rt.layout.net_fd;
	uint64_t fd = poll_fd - f->pfd.off;
	struct gr_error *err = NULL;

	if (has_layout(&stop->program->rt))
		err = describe_kind(&stop->program->rt, fd, ret);
	if (err)
		return err;
	if (!gr_stop_may_have_values(stop)) {
		ret->has_unsaved |= calls->is_connect;
		return NULL;
	}
	ret->has_unsaved = false;
	gr_recorder_pause(stop->program->rt.recorder);
	err = describe_ends(stop->program, g, calls, fd, ret);
	gr_recorder_resume(stop->program->rt.recorder);
	return err;
}

struct gr_error *gr_network_find(struct gr_stop *stop,
				 const struct gr_goroutine *g,
				 struct gr_network *ret)
{
	const struct gr_layout *layout = &stop->program->rt.layout;
	struct gr_polled polled;
	struct calls calls;
	struct gr_error *err = gr_polled_find(&stop->sched, g, &polled);

	*ret = (struct gr_network){
		.action = "", .network = "", .local = "", .remote = ""
	};
	if (err || !polled.fd)
		return err;
	ret->is_known = true;
	ret->deadline = polled.deadline;
	err = gr_runtime_read_field(&stop->program->rt, polled.fd,
				    layout->poll_fd.sysfd, &ret->descriptor);
	if (!err)
		err = look_at_calls(&stop->program->rt, g, polled.frame,
				    &calls);
	if (err)
		return err;
	ret->action = calls.is_connect ? "connect" :
		      calls.is_accept  ? "accept" :
		      polled.is_write  ? "write" :
					 "read";
	return calls.is_socket ?
		       describe_socket(stop, g, &calls, polled.fd, ret) :
		       NULL;
}

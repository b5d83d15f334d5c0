// SPDX-License-Identifier: Apache-2.0
#include "inferior/notes.h"

enum {
	PRSTATUS_SIGNAL_OFF = 12,
	PRSTATUS_PID_OFF = 32,
	PRSTATUS_REGS_OFF = 112,
	PRPSINFO_PID_OFF = 24,
	SIGINFO_CODE_OFF = 8,
	SIGINFO_FIELDS_OFF = 16,
	GO_BUILD_ID_NOTE = 4,
};

bool gr_note_next(struct gr_bytes notes, uint64_t *off, struct gr_note *ret)
{
	Elf64_Nhdr header;

	if (!gr_bytes_get(notes, *off, &header, sizeof(header)))
		return false;
	// Sizes have 32 bits, so none of these sums overflows.
	uint64_t owner_off = *off + sizeof(header);
	uint64_t desc_off = owner_off + ((header.n_namesz + UINT64_C(3)) & ~3);
	uint64_t end = desc_off + ((header.n_descsz + UINT64_C(3)) & ~3);
	if (!gr_bytes_has(notes, owner_off, header.n_namesz) ||
	    !gr_bytes_has(notes, desc_off, header.n_descsz))
		return false;
	ret->type = header.n_type;
	ret->owner = gr_bytes_slice(notes, owner_off, header.n_namesz);
	while (ret->owner.size && !ret->owner.data[ret->owner.size - 1])
		ret->owner.size--;
	ret->desc = gr_bytes_slice(notes, desc_off, header.n_descsz);
	*off = end;
	return true;
}

bool gr_note_is_owned_by(const struct gr_note *note, const char *owner)
{
	return note->owner.size == strlen(owner) &&
	       !memcmp(note->owner.data, owner, note->owner.size);
}

bool gr_note_thread(const struct gr_note *note, const struct gr_arch *arch,
		    struct gr_target_thread *ret)
{
	struct gr_bytes words = gr_bytes_slice(note->desc, PRSTATUS_REGS_OFF,
					       arch->user.count * 8);
	if (!words.data)
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->lwp = (int32_t)gr_load_u32(note->desc.data + PRSTATUS_PID_OFF);
	ret->regs = gr_arch_load_user(arch, words.data);
	return true;
}

int32_t gr_note_signal(const struct gr_note *note)
{
	uint16_t number = 0;

	gr_bytes_get(note->desc, PRSTATUS_SIGNAL_OFF, &number, sizeof(number));
	return (int16_t)number;
}

int32_t gr_note_pid(const struct gr_note *note)
{
	uint32_t pid = 0;

	gr_bytes_get(note->desc, PRPSINFO_PID_OFF, &pid, sizeof(pid));
	return (int32_t)pid;
}

struct gr_core_signal gr_note_siginfo(const struct gr_note *note)
{
	struct gr_core_signal ret = { .number = 0 };
	const uint8_t *p = note->desc.data;

	if (!gr_bytes_has(note->desc, SIGINFO_FIELDS_OFF, sizeof(uint64_t)))
		return ret;
	ret.number = (int32_t)gr_load_u32(p);
	ret.code = (int32_t)gr_load_u32(p + SIGINFO_CODE_OFF);
	// The fields of different kinds of signals share their place.
	ret.sender_pid = (int32_t)gr_load_u32(p + SIGINFO_FIELDS_OFF);
	ret.fault_addr = gr_load_u64(p + SIGINFO_FIELDS_OFF);
	return ret;
}

static int reg_by_name(const struct gr_arch *arch, struct gr_bytes name)
{
	for (int reg = 0; reg < arch->nregs; reg++) {
		const char *ours = arch->reg_names[reg];
		if (name.size == strlen(ours) &&
		    !strncasecmp((const char *)name.data, ours, name.size))
			return reg;
	}
	return -1;
}

// Read a counted string of Delve's notes: a 16-bit length, then the bytes.
static bool delve_field(struct gr_bytes desc, uint64_t *off,
			struct gr_bytes *ret)
{
	uint16_t bytes;

	if (!gr_bytes_get(desc, *off, &bytes, sizeof(bytes)) ||
	    !gr_bytes_has(desc, *off + 2, bytes))
		return false;
	*ret = gr_bytes_slice(desc, *off + 2, bytes);
	*off += 2 + bytes;
	return true;
}

bool gr_note_delve_thread(const struct gr_note *note,
			  const struct gr_arch *arch,
			  struct gr_target_thread *ret)
{
	enum {
		PC_OFF = 8,
		SP_OFF = 16,
		BP_OFF = 24,
		TLS_OFF = 32,
		COUNT_OFF = 49,
		REGS_OFF = 53
	};
	struct gr_bytes desc = note->desc, name, value;
	uint64_t off = REGS_OFF;

	if (!gr_bytes_has(desc, 0, REGS_OFF))
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->lwp = (int32_t)gr_load_u32(desc.data);
	uint32_t count = gr_load_u32(desc.data + COUNT_OFF);
	for (uint32_t i = 0; i < count; i++) {
		if (!delve_field(desc, &off, &name) ||
		    !delve_field(desc, &off, &value))
			break;
		int reg = reg_by_name(arch, name);
		if (reg >= 0 && value.size >= 8)
			ret->regs.value[reg] = gr_load_u64(value.data);
	}
	ret->regs.value[arch->pc] = gr_load_u64(desc.data + PC_OFF);
	ret->regs.value[arch->sp] = gr_load_u64(desc.data + SP_OFF);
	ret->regs.value[arch->fp] = gr_load_u64(desc.data + BP_OFF);
	ret->regs.fs_base = gr_load_u64(desc.data + TLS_OFF);
	return true;
}

bool gr_note_delve_entry(const struct gr_note *note, uint64_t *ret)
{
	static const char label[] = "\nEntry Point: 0x";
	const char *text = memmem(note->desc.data, note->desc.size, label,
				  sizeof(label) - 1);
	if (!text)
		return false;
	const char *end = (const char *)note->desc.data + note->desc.size;
	uint64_t value = 0;
	for (text += sizeof(label) - 1; text < end && *text != '\n'; text++) {
		const char *digit = strchr("0123456789abcdef", *text);
		if (!digit || !*text || value >> 60)
			return false;
		value = value << 4 | (digit - "0123456789abcdef");
	}
	*ret = value;
	return true;
}

struct gr_auxv gr_auxv_parse(struct gr_bytes auxv)
{
	struct gr_auxv ret = { 0 };

	for (uint64_t off = 0; gr_bytes_has(auxv, off, 16); off += 16) {
		uint64_t type = gr_load_u64(auxv.data + off);
		if (type == AT_ENTRY)
			ret.entry = gr_load_u64(auxv.data + off + 8);
		else if (type == AT_PHDR)
			ret.phdr = gr_load_u64(auxv.data + off + 8);
		else if (type == AT_RANDOM)
			ret.random = gr_load_u64(auxv.data + off + 8);
		else if (type == AT_EXECFN)
			ret.execfn = gr_load_u64(auxv.data + off + 8);
		else if (type == AT_NULL)
			break;
	}
	return ret;
}

void gr_build_id_collect(struct gr_bytes notes, struct gr_build_id *id)
{
	struct gr_note note;

	for (uint64_t off = 0; gr_note_next(notes, &off, &note);) {
		uint64_t bytes = note.desc.size;
		if (gr_note_is_owned_by(&note, "GNU") &&
		    note.type == NT_GNU_BUILD_ID && bytes &&
		    bytes <= sizeof(id->gnu)) {
			memcpy(id->gnu, note.desc.data, bytes);
			id->gnu_bytes = bytes;
		} else if (gr_note_is_owned_by(&note, "Go") &&
			   note.type == GO_BUILD_ID_NOTE && bytes &&
			   bytes <= sizeof(id->go)) {
			memcpy(id->go, note.desc.data, bytes);
			id->go_bytes = bytes;
		}
	}
}

struct gr_build_id gr_build_id_of(const struct gr_elf *elf)
{
	struct gr_build_id id = { .gnu_bytes = 0 };

	struct gr_segments segments = { .elf = elf };
	struct gr_bytes notes;
	Elf64_Phdr header;

	while (gr_segments_next(&segments, PT_NOTE, &header, &notes))
		gr_build_id_collect(notes, &id);
	return id;
}

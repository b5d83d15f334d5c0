// SPDX-License-Identifier: Apache-2.0
/*
 * An input is a core file: headers, segments and notes. Opened, and read all
 * over its mappings.
 */
#include "fuzz.h"
#include "inferior/core.h"
#include "inferior/image.h"

enum {
	MAX_MAPPINGS = 64,
	READ_BYTES = 3 * 4096,
};

static struct fuzz_base exe;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_base_init(&exe, "GOREF_FUZZ_EXE");
	return 0;
}

static void read_at(struct gr_image *image, uint64_t addr, uint64_t bytes)
{
	static uint8_t buf[READ_BYTES];
	struct gr_mapping_info info;
	const uint8_t *host;
	uint64_t sum = 0;

	gr_image_mapping(image, addr, &info);
	fuzz_check_error(gr_image_read(image, addr, buf, sizeof(buf)));
	fuzz_check_error(gr_image_read_u64(image, addr - 3, &sum));
	struct gr_error *err = gr_image_map(image, addr, bytes, &host);
	if (!err && bytes)
		sum += host[0] + host[bytes - 1];
	fuzz_check_error(err);
	// No more than a real reader would ask for.
	if (bytes > UINT64_C(1) << 24 && bytes < UINT64_C(1) << 36)
		bytes = UINT64_C(1) << 24;
	err = gr_image_map_torn(image, addr, bytes, &host);
	if (!err && host && bytes)
		sum += host[0] + host[bytes - 1];
	fuzz_check_error(err);
	*(volatile uint64_t *)&sum;
}

static void read_all(struct gr_image *image, const struct gr_core *core)
{
	for (size_t i = 0; i < core->segments.list.size && i < MAX_MAPPINGS;
	     i++) {
		const struct gr_mapping *m = &core->segments.list.data[i];

		read_at(image, m->start, m->end - m->start);
		read_at(image, m->end - 5, 8 * 4096);
	}
	for (size_t i = 0; i < core->threads.size && i < MAX_MAPPINGS; i++)
		read_at(image, core->threads.data[i].regs.value[GR_REG_RSP],
			100);
	read_at(image, UINT64_MAX - 10, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_file file;
	struct gr_core core;
	struct gr_gaps gaps = { 0 };
	struct gr_image *image;
	struct gr_target_module module = { .path = exe.file.path,
					   .bias = UINT64_MAX };
	struct gr_target target = { .kind = GR_TARGET_CORE,
				    .modules = &module,
				    .nmodules = 1 };

	fuzz_file_init(&file, data, bytes);
	target.core_path = file.path;
	struct gr_error *err = gr_core_open(file.path, &target, &core);
	if (!err) {
		err = gr_image_create(&target, &gaps, &image);
		if (!err) {
			read_all(image, &core);
			gr_image_destroy(image);
		}
		gr_core_deinit(&core);
	}
	fuzz_check_error(err);
	fuzz_file_deinit(&file);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "dwarf/internal.h"
#include "dwarf/stamp.h"

// Tables of debug information as files of the cache (cache_files.c).

// Fill the tables from the cache; *@ret is false if it does not have them.
static struct gr_error *load(struct gr_dwarf *dwarf, bool *ret)
{
	size_t bytes;
	_cleanup_free_ void *block =
		gr_cache_file_read(&dwarf->key, GR_CACHE_TABLES, &bytes);
	enum gr_stored state;

	*ret = false;
	if (!block)
		return NULL;
	struct gr_error *err =
		gr_store_unpack(dwarf, block, bytes, GR_DWARF_STAMP, &state);
	if (err)
		return err;
	*ret = state == GR_STORED_FINE;
	if (*ret)
		block = NULL;
	else if (state == GR_STORED_DAMAGED)
		gr_cache_file_remove(&dwarf->key, GR_CACHE_TABLES);
	return NULL;
}

static struct gr_dwarf *create_empty(const char *path,
				     const struct gr_dwarf_key *key)
{
	struct gr_dwarf *dwarf = calloc(1, sizeof(*dwarf));

	if (!dwarf)
		return NULL;
	dwarf->fd = -1;
	dwarf->key = *key;
	dwarf->is_cached = true;
	dwarf->path = strdup(path);
	if (dwarf->path)
		return dwarf;
	free(dwarf);
	return NULL;
}

static struct gr_error *open_cached(const char *file, const char *build_id,
				    bool is_data_only,
				    struct gr_error *(*poll)(void *ctx),
				    void *ctx, struct gr_dwarf **ret)
{
	struct gr_dwarf_key key;
	struct gr_error *err;

	if (!gr_dwarf_key_of(file, build_id, &key))
		return gr_dwarf_open_file(file, is_data_only, poll, ctx, ret);
	err = gr_dwarf_check_library();
	if (err)
		return err;
	struct gr_dwarf *dwarf = create_empty(file, &key);
	if (!dwarf)
		return &gr_enomem;
	dwarf->poll = poll;
	dwarf->ctx = ctx;
	bool is_loaded;
	err = load(dwarf, &is_loaded);
	if (is_loaded) {
		*ret = dwarf;
		return NULL;
	}
	gr_dwarf_destroy(dwarf);
	if (!err)
		err = gr_dwarf_open_file(file, is_data_only, poll, ctx, ret);
	if (err)
		return err;
	// Damaged tables are not cached, so that every scan reports the damage.
	(*ret)->is_cached = !(*ret)->damaged_units;
	(*ret)->key = key;
	return NULL;
}

struct gr_error *gr_dwarf_open_cached(const char *path, const char *debug_path,
				      const char *build_id,
				      struct gr_error *(*poll)(void *ctx),
				      void *ctx, struct gr_dwarf **ret)
{
	return open_cached(debug_path ? debug_path : path, build_id, false,
			   poll, ctx, ret);
}

struct gr_error *gr_dwarf_open_data(const char *path, const char *debug_path,
				    const char *build_id,
				    struct gr_error *(*poll)(void *ctx),
				    void *ctx, struct gr_dwarf **ret)
{
	char key[sizeof(((struct gr_dwarf_key *)0)->build_id)] = "";

	// The full tables of the file have another key.
	if (build_id && *build_id)
		snprintf(key, sizeof(key), "%s-data", build_id);
	return open_cached(debug_path ? debug_path : path, key, true, poll, ctx,
			   ret);
}

struct gr_error *gr_dwarf_open_packed(const char *path, void *block,
				      size_t bytes,
				      struct gr_error *(*poll)(void *ctx),
				      void *ctx, struct gr_dwarf **ret)
{
	_cleanup_free_ void *owned = block;
	struct gr_dwarf_key key;

	if (!gr_store_key(block, bytes, &key))
		return gr_error_format(GR_ERROR_NO_DWARF,
				       "%s has no debug information", path);
	struct gr_dwarf *dwarf = create_empty(path, &key);
	if (!dwarf)
		return &gr_enomem;
	dwarf->is_cached = false;
	dwarf->is_packed = true;
	dwarf->poll = poll;
	dwarf->ctx = ctx;
	enum gr_stored state;
	struct gr_error *err = gr_store_unpack(dwarf, block, bytes,
					       GR_DWARF_TABLES_VERSION, &state);
	if (!err && state == GR_STORED_FINE) {
		owned = NULL;
		*ret = dwarf;
		return NULL;
	}
	gr_dwarf_destroy(dwarf);
	if (err)
		return err;
	return gr_error_format(GR_ERROR_FORMAT,
			       "the saved file is damaged (its tables of types "
			       "make no sense): copy or save it again");
}

// ----------------------------------------------------------------- writing

void gr_dwarf_keep_answers(struct gr_dwarf *dwarf)
{
	if (!dwarf)
		return;
	dwarf->is_kept = true;
	dwarf->answers.is_unlimited = true;
}

void *gr_dwarf_pack(const struct gr_dwarf *dwarf, size_t *ret_bytes)
{
	return gr_store_pack(dwarf, GR_DWARF_TABLES_VERSION, ret_bytes);
}

void gr_dwarf_save(struct gr_dwarf *dwarf)
{
	_cleanup_free_ void *block = NULL;
	size_t bytes;

	if (!dwarf || !dwarf->is_cached ||
	    (dwarf->is_saved && dwarf->answers.rows.size == dwarf->nsaved))
		return;
	block = gr_store_pack(dwarf, GR_DWARF_STAMP, &bytes);
	if (!block ||
	    !gr_cache_file_write(&dwarf->key, GR_CACHE_TABLES, block, bytes))
		return;
	dwarf->is_saved = true;
	dwarf->nsaved = dwarf->answers.rows.size;
}

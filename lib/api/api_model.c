/* SPDX-License-Identifier: MIT */

/* The model handle: opening, reference counting, and what inspection.c prepared, by index. */

#include "api/api.h"
#include "zoo/zoo.h"

/* ---- opening ---- */

typedef struct import_bridge {
    const linnet_config *config;
} import_bridge;

/* Hands the host's callback a text handle around the loader's buffer. */
static int32_t import_from_host(void *user, const char *module, lin_text *into)
{
    const import_bridge *bridge = user;
    linnet_text handle;
    lin_text_init(&handle.text, &bridge->config->allocator);
    int32_t found = bridge->config->source(bridge->config->source_user, module, &handle);
    if (found == 1)
        lin_text_append(into, lin_text_data(&handle.text), handle.text.length);
    lin_text_free(&handle.text);
    return found;
}

static lin_source_settings source_settings(const linnet_config *config, import_bridge *bridge)
{
    bridge->config = config;
    lin_source_settings settings = {
        .allocator = config->allocator,
        .std_directory = config->texts[CONFIG_STD],
        .import = config->source != NULL ? import_from_host : NULL,
        .import_user = bridge,
        .limits = lin_lang_default_limits,
        .file_bytes = (uint64_t)config->file_bytes,
    };
    settings.limits.source_bytes = settings.file_bytes;
    return settings;
}

static linnet_status wrap(lin_source *take_source, const lin_allocator *allocator,
                          linnet_model **out_model, linnet_error *err)
{
    linnet_model *model = lin_alloc_zeroed(allocator, sizeof *model);
    if (model == NULL) {
        lin_source_free(take_source);
        return lin_fail_memory(err);
    }
    atomic_init(&model->references, 1);
    model->allocator = *allocator;
    model->source = take_source;
    lin_arena_init(&model->arena, allocator);
    linnet_status status = lin_model_view_new(&model->arena, take_source, &model->view, err);
    if (status == LINNET_OK)
        *out_model = model;
    else
        linnet_model_unref(model);
    return status;
}

static lin_diagnostics *cleared(linnet_diagnostics *diagnostics)
{
    if (diagnostics == NULL)
        return NULL;
    lin_diagnostics_free(&diagnostics->list);
    lin_diagnostics_init(&diagnostics->list, &lin_default_allocator,
                         lin_lang_default_limits.diagnostics);
    return &diagnostics->list;
}

linnet_status linnet_model_open(const linnet_config *config, const char *name_or_path,
                                linnet_diagnostics *diagnostics, linnet_model **out_model,
                                linnet_error *err)
{
    import_bridge bridge;
    lin_source *source = NULL;
    const lin_source_settings settings = source_settings(config, &bridge);
    linnet_status status =
        lin_source_open(&settings, name_or_path, cleared(diagnostics), &source, err);
    return status == LINNET_OK ? wrap(source, &config->allocator, out_model, err) : status;
}

linnet_status linnet_model_parse(const linnet_config *config, const char *text, uint64_t length,
                                 const char *source_name, linnet_diagnostics *diagnostics,
                                 linnet_model **out_model, linnet_error *err)
{
    import_bridge bridge;
    lin_source *source = NULL;
    const lin_source_settings settings = source_settings(config, &bridge);
    linnet_status status =
        lin_source_parse(&settings, text, length, source_name, cleared(diagnostics), &source, err);
    return status == LINNET_OK ? wrap(source, &config->allocator, out_model, err) : status;
}

linnet_model *linnet_model_ref(linnet_model *model)
{
    atomic_fetch_add_explicit(&model->references, 1, memory_order_relaxed);
    return model;
}

void linnet_model_unref(linnet_model *model)
{
    if (model == NULL ||
        atomic_fetch_sub_explicit(&model->references, 1, memory_order_acq_rel) != 1)
        return;
    const lin_allocator allocator = model->allocator;
    lin_arena_free(&model->arena);
    lin_source_free(model->source);
    lin_release(&allocator, model, sizeof *model);
}

/* ---- the model ---- */

const char *linnet_model_name(const linnet_model *model)
{
    return model->source->name;
}

const char *linnet_model_title(const linnet_model *model)
{
    return model->source->title;
}

const char *linnet_model_family(const linnet_model *model)
{
    return model->source->family;
}

uint64_t linnet_model_assumption_count(const linnet_model *model)
{
    return model->source->assumption_count;
}

const char *linnet_model_assumption(const linnet_model *model, uint64_t index)
{
    return index < model->source->assumption_count ? model->source->assumptions[index] : NULL;
}

/* ---- entries ---- */

static const model_entry *entry_at(const linnet_model *model, uint64_t index)
{
    return index < model->view.entry_count ? &model->view.entries[index] : NULL;
}

uint64_t linnet_model_entry_count(const linnet_model *model)
{
    return model->view.entry_count;
}

const char *linnet_model_entry_name(const linnet_model *model, uint64_t index)
{
    const model_entry *entry = entry_at(model, index);
    return entry != NULL ? entry->name : NULL;
}

const char *linnet_model_entry_block(const linnet_model *model, uint64_t index)
{
    const model_entry *entry = entry_at(model, index);
    return entry != NULL ? entry->block : NULL;
}

const char *linnet_model_entry_signature(const linnet_model *model, uint64_t index)
{
    const model_entry *entry = entry_at(model, index);
    return entry != NULL ? entry->signature : NULL;
}

/* ---- blocks ---- */

static const model_block *block_at(const linnet_model *model, uint64_t index)
{
    return index < model->view.block_count ? &model->view.blocks[index] : NULL;
}

uint64_t linnet_model_block_count(const linnet_model *model)
{
    return model->view.block_count;
}

const char *linnet_model_block_name(const linnet_model *model, uint64_t block)
{
    const model_block *b = block_at(model, block);
    return b != NULL ? b->name : NULL;
}

const char *linnet_model_block_module(const linnet_model *model, uint64_t block)
{
    const model_block *b = block_at(model, block);
    return b != NULL ? b->module : NULL;
}

int64_t linnet_model_root(const linnet_model *model)
{
    return model->view.root;
}

static const model_generic *generic_at(const linnet_model *model, uint64_t block, uint64_t index)
{
    const model_block *b = block_at(model, block);
    return b != NULL && index < b->generic_count ? &b->generics[index] : NULL;
}

uint64_t linnet_model_generic_count(const linnet_model *model, uint64_t block)
{
    const model_block *b = block_at(model, block);
    return b != NULL ? b->generic_count : 0;
}

const char *linnet_model_generic_name(const linnet_model *model, uint64_t block, uint64_t index)
{
    const model_generic *g = generic_at(model, block, index);
    return g != NULL ? g->name : NULL;
}

const char *linnet_model_generic_declaration(const linnet_model *model, uint64_t block,
                                             uint64_t index)
{
    const model_generic *g = generic_at(model, block, index);
    return g != NULL ? g->declaration : NULL;
}

const char *linnet_model_generic_value(const linnet_model *model, uint64_t block, uint64_t index)
{
    const model_generic *g = generic_at(model, block, index);
    return g != NULL ? g->value : NULL;
}

/* ---- parameters ---- */

static const model_parameter *parameter_at(const linnet_model *model, uint64_t block,
                                           uint64_t index)
{
    const model_block *b = block_at(model, block);
    return b != NULL && index < b->parameter_count ? &b->parameters[index] : NULL;
}

uint64_t linnet_model_parameter_count(const linnet_model *model, uint64_t block)
{
    const model_block *b = block_at(model, block);
    return b != NULL ? b->parameter_count : 0;
}

const char *linnet_model_parameter_path(const linnet_model *model, uint64_t block, uint64_t index)
{
    const model_parameter *p = parameter_at(model, block, index);
    return p != NULL ? p->path : NULL;
}

const char *linnet_model_parameter_kind(const linnet_model *model, uint64_t block, uint64_t index)
{
    const model_parameter *p = parameter_at(model, block, index);
    return p != NULL ? p->kind : NULL;
}

const char *linnet_model_parameter_dtype(const linnet_model *model, uint64_t block, uint64_t index)
{
    const model_parameter *p = parameter_at(model, block, index);
    return p != NULL ? p->dtype : NULL;
}

uint64_t linnet_model_parameter_rank(const linnet_model *model, uint64_t block, uint64_t index)
{
    const model_parameter *p = parameter_at(model, block, index);
    return p != NULL ? p->rank : 0;
}

const char *linnet_model_parameter_extent(const linnet_model *model, uint64_t block, uint64_t index,
                                          uint64_t axis)
{
    const model_parameter *p = parameter_at(model, block, index);
    return p != NULL && axis < p->rank ? p->extents[axis] : NULL;
}

uint64_t linnet_model_parameter_repeat_count(const linnet_model *model, uint64_t block,
                                             uint64_t index)
{
    const model_parameter *p = parameter_at(model, block, index);
    return p != NULL ? p->repeat_count : 0;
}

const char *linnet_model_parameter_repeat(const linnet_model *model, uint64_t block, uint64_t index,
                                          uint64_t level)
{
    const model_parameter *p = parameter_at(model, block, index);
    return p != NULL && level < p->repeat_count ? p->repeats[level] : NULL;
}

int32_t linnet_model_parameter_optional(const linnet_model *model, uint64_t block, uint64_t index)
{
    const model_parameter *p = parameter_at(model, block, index);
    return p != NULL && p->optional;
}

int32_t linnet_model_parameter_present(const linnet_model *model, uint64_t block, uint64_t index)
{
    const model_parameter *p = parameter_at(model, block, index);
    return p != NULL && p->present;
}

const char *linnet_model_parameter_tied_to(const linnet_model *model, uint64_t block,
                                           uint64_t index)
{
    const model_parameter *p = parameter_at(model, block, index);
    return p != NULL ? p->tied_to : NULL;
}

int64_t linnet_model_parameter_bytes(const linnet_model *model, uint64_t block, uint64_t index)
{
    const model_parameter *p = parameter_at(model, block, index);
    return p != NULL ? p->bytes : -1;
}

linnet_status linnet_model_weight_elements(const linnet_model *model, int64_t *out_elements,
                                           linnet_error *err)
{
    return lin_trace_count_parameters(model->source, false, &model->allocator, out_elements, err);
}

/* ---- ops ---- */

uint64_t linnet_model_op_count(const linnet_model *model)
{
    return model->view.op_count;
}

const char *linnet_model_op_name(const linnet_model *model, uint64_t index)
{
    return index < model->view.op_count ? model->view.ops[index].op : NULL;
}

const char *linnet_model_op_implementation(const linnet_model *model, uint64_t index,
                                           const char *numerics)
{
    lin_numerics policy = LIN_NUMERICS_FAST;
    if (index >= model->view.op_count ||
        (numerics != NULL && !lin_numerics_find(numerics, &policy)))
        return NULL;
    return lin_backend_choose(model->view.ops[index].op, policy).spelling;
}

/* ---- names ---- */

static const lin_zoo_model *builtin(uint64_t index)
{
    return index < lin_zoo_model_count() ? lin_zoo_model_at((uint32_t)index) : NULL;
}

uint64_t linnet_builtin_model_count(void)
{
    return lin_zoo_model_count();
}

const char *linnet_builtin_model_name(uint64_t index)
{
    const lin_zoo_model *model = builtin(index);
    return model != NULL ? model->name : NULL;
}

const char *linnet_builtin_model_title(uint64_t index)
{
    const lin_zoo_model *model = builtin(index);
    return model != NULL ? model->title : NULL;
}

int32_t linnet_builtin_model_is_shipped(uint64_t index)
{
    const lin_zoo_model *model = builtin(index);
    return model != NULL && model->card != NULL;
}

const char *linnet_builtin_model_nearest(const char *name)
{
    const char *names[64];
    uint32_t count = 0;
    for (uint32_t i = 0; i < lin_zoo_model_count() && count < ARRAY_LEN(names); i++)
        names[count++] = lin_zoo_model_at(i)->name;
    return lin_nearest(name, names, count);
}

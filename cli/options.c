/* SPDX-License-Identifier: MIT */

/*
 * The options, one row each: parsing (options_read.c), --help and the completions read the same
 * table, in its order. A value is handed to the library's setter, which refuses what it cannot use.
 */

#include "cli.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

linnet_status cli_read_integer(const char *value, int64_t *out, linnet_error *err)
{
    char *end;
    errno = 0;
    const long long number = strtoll(value, &end, 10);
    const bool starts = (value[0] >= '0' && value[0] <= '9') || value[0] == '-' || value[0] == '+';
    if (!starts || *end != '\0' || end == value)
        return cli_refuse_value(err, "`%s` is no whole number", value);
    if (errno == ERANGE)
        return cli_refuse_value(err, "`%s` does not fit in 64 bits", value);
    *out = number;
    return LINNET_OK;
}

static linnet_status set_batch(cli_request *request, const char *value, linnet_error *err)
{
    int64_t number;
    linnet_status status = cli_read_integer(value, &number, err);
    return status == LINNET_OK ? linnet_config_set_batch(request->config, number, err) : status;
}

static linnet_status set_context(cli_request *request, const char *value, linnet_error *err)
{
    int64_t number;
    linnet_status status = cli_read_integer(value, &number, err);
    return status == LINNET_OK ? linnet_config_set_context(request->config, number, err) : status;
}

static linnet_status set_cache(cli_request *request, const char *value, linnet_error *err)
{
    int64_t number;
    linnet_status status = cli_read_integer(value, &number, err);
    return status == LINNET_OK ? linnet_config_set_cache(request->config, number, err) : status;
}

static linnet_status set_kv_block_size(cli_request *request, const char *value, linnet_error *err)
{
    int64_t number;
    linnet_status status = cli_read_integer(value, &number, err);
    return status == LINNET_OK ? linnet_config_set_kv_block_size(request->config, number, err)
                               : status;
}

static linnet_status set_top(cli_request *request, const char *value, linnet_error *err)
{
    linnet_status status = cli_read_integer(value, &request->top, err);
    if (status == LINNET_OK && request->top < 0)
        return cli_refuse_value(err, "a count of tensors cannot be %lld", (long long)request->top);
    return status;
}

bool cli_read_thousandths(const char *value, int64_t *out)
{
    enum { WHOLE = 1000, MOST = 100000000 };
    int64_t thousandths = 0, unit = WHOLE;
    const char *at = value;
    for (; *at >= '0' && *at <= '9' && thousandths < MOST; at++)
        thousandths = thousandths * 10 + (*at - '0') * WHOLE;
    if (at != value && *at == '.')
        for (at++; *at >= '0' && *at <= '9' && unit > 1; at++)
            thousandths += (*at - '0') * (unit /= 10);
    *out = thousandths;
    return at != value && *at == '\0';
}

/* 1 or more; the setter says so. */
static linnet_status set_expert_imbalance(cli_request *request, const char *value,
                                          linnet_error *err)
{
    int64_t thousandths;
    if (!cli_read_thousandths(value, &thousandths))
        return cli_refuse_value(err, "`%s` is no factor such as 1.5", value);
    return linnet_config_set_expert_imbalance(request->config, thousandths, err);
}

static linnet_status set_context_bytes(cli_request *request, const char *value, linnet_error *err)
{
    int64_t bytes;
    linnet_status status = linnet_parse_size(value, &bytes, err);
    request->has_context_bytes = true;
    return status == LINNET_OK ? linnet_config_set_context_bytes(request->config, bytes, err)
                               : status;
}

static linnet_status set_bind(cli_request *request, const char *value, linnet_error *err)
{
    char name[128];
    const char *equals = strchr(value, '=');
    if (equals == NULL || equals == value || equals[1] == '\0')
        return cli_refuse_value(err, "`%s` is not of the form GENERIC=VALUE", value);
    if ((size_t)(equals - value) >= sizeof name)
        return cli_refuse_value(err, "the generic's name is longer than 127 bytes");
    memcpy(name, value, (size_t)(equals - value));
    name[equals - value] = '\0';
    return linnet_config_bind(request->config, name, equals + 1, err);
}

static linnet_status set_backend(cli_request *request, const char *value, linnet_error *err)
{
    request->backend_is_generic = strcmp(value, "generic") == 0;
    return linnet_config_set_backend(request->config, value, err);
}

static linnet_status set_numerics(cli_request *request, const char *value, linnet_error *err)
{
    request->numerics = value;
    return linnet_config_set_numerics(request->config, value, err);
}

static linnet_status set_dtype(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_dtype(request->config, value, err);
}

static linnet_status set_entry(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_entry(request->config, value, err);
}

static linnet_status set_root(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_root(request->config, value, err);
}

static linnet_status set_std(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_std_directory(request->config, value, err);
}

static linnet_status set_optional(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_add_optional(request->config, value, err);
}

static linnet_status set_kv_dtype(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_kv_dtype(request->config, value, err);
}

static linnet_status set_kv_window(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_kv_window(request->config, value, err);
}

static linnet_status set_training(cli_request *request, const char *value, linnet_error *err)
{
    (void)value;
    return linnet_config_set_training(request->config, 1, err);
}

static linnet_status set_timeline(cli_request *request, const char *value, linnet_error *err)
{
    (void)value;
    request->timeline = true;
    return linnet_config_set_timeline(request->config, 1, err);
}

static linnet_status set_svg(cli_request *request, const char *value, linnet_error *err)
{
    if (value[0] == '\0')
        return cli_refuse_value(err, "a file's name is empty");
    request->svg = value;
    return LINNET_OK;
}

static linnet_status set_html(cli_request *request, const char *value, linnet_error *err)
{
    if (value[0] == '\0')
        return cli_refuse_value(err, "a file's name is empty");
    request->html = value;
    return LINNET_OK;
}

static linnet_status set_device_memory(cli_request *request, const char *value, linnet_error *err)
{
    const linnet_status status = linnet_parse_size(value, &request->device_memory, err);
    if (status == LINNET_OK && request->device_memory == 0)
        return cli_refuse_value(err, "a device without memory holds nothing");
    return status;
}

static linnet_status set_optimizer(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_optimizer(request->config, value, err);
}

static linnet_status set_master_dtype(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_master_dtype(request->config, value, err);
}

static linnet_status set_gradient_dtype(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_gradient_dtype(request->config, value, err);
}

static linnet_status set_trainable(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_add_trainable(request->config, value, err);
}

/* Each policy is a report of its own: the command sets them one after the other. */
static linnet_status set_checkpoint(cli_request *request, const char *value, linnet_error *err)
{
    const linnet_status status = linnet_config_set_checkpoint(request->config, value, err);
    if (status != LINNET_OK)
        return status;
    if (request->policy_count == CLI_MAX_POLICIES)
        return cli_refuse_value(err, "more than %d policies", (int)CLI_MAX_POLICIES);
    request->policies[request->policy_count++] = value;
    return LINNET_OK;
}

static linnet_status set_step(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_step(request->config, value, err);
}

static linnet_status set_clip(cli_request *request, const char *value, linnet_error *err)
{
    (void)value;
    return linnet_config_set_clip_grad_norm(request->config, 1, err);
}

static linnet_status set_accumulation(cli_request *request, const char *value, linnet_error *err)
{
    int64_t number;
    linnet_status status = cli_read_integer(value, &number, err);
    return status == LINNET_OK ? linnet_config_set_grad_accumulation(request->config, number, err)
                               : status;
}

static linnet_status set_lora(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_lora(request->config, value, err);
}

static linnet_status set_loss(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_loss(request->config, value, err);
}

static linnet_status set_no_bindings(cli_request *request, const char *value, linnet_error *err)
{
    (void)value;
    return linnet_config_set_no_bindings(request->config, 1, err);
}

/* A count of a schedule. */
static linnet_status read_positive(const char *value, int64_t *out, linnet_error *err)
{
    linnet_status status = cli_read_integer(value, out, err);
    if (status == LINNET_OK && *out < 1)
        return cli_refuse_value(err, "must be at least 1, not %lld", (long long)*out);
    return status;
}

static linnet_status set_ranks(cli_request *request, const char *value, linnet_error *err)
{
    return read_positive(value, &request->ranks, err);
}

static linnet_status set_microbatches(cli_request *request, const char *value, linnet_error *err)
{
    const linnet_status status = read_positive(value, &request->microbatches, err);
    return status == LINNET_OK
               ? linnet_config_set_microbatches(request->config, request->microbatches, err)
               : status;
}

static linnet_status set_virtual_stages(cli_request *request, const char *value, linnet_error *err)
{
    const linnet_status status = read_positive(value, &request->virtual_stages, err);
    return status == LINNET_OK
               ? linnet_config_set_virtual_stages(request->config, request->virtual_stages, err)
               : status;
}

static linnet_status set_draw(cli_request *request, const char *value, linnet_error *err)
{
    (void)value;
    (void)err;
    request->draw = true;
    return LINNET_OK;
}

static linnet_status set_json(cli_request *request, const char *value, linnet_error *err)
{
    (void)value;
    (void)err;
    request->json = true;
    return LINNET_OK;
}

static linnet_status set_device_name(cli_request *request, const char *value, linnet_error *err)
{
    if (value[0] == '\0')
        return cli_refuse_value(err, "a device's name is empty");
    request->device = value;
    return LINNET_OK;
}

static linnet_status set_time_model(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_time_model(request->config, value, err);
}

static linnet_status set_training_loop(cli_request *request, const char *value, linnet_error *err)
{
    return linnet_config_set_training_loop(request->config, value, err);
}

static linnet_status set_strict(cli_request *request, const char *value, linnet_error *err)
{
    (void)value;
    (void)err;
    request->strict = true;
    return LINNET_OK;
}

static linnet_status set_parameters(cli_request *request, const char *value, linnet_error *err)
{
    (void)value;
    (void)err;
    request->parameters = true;
    return LINNET_OK;
}

static linnet_status set_help(cli_request *request, const char *value, linnet_error *err)
{
    (void)value;
    (void)err;
    request->help = true;
    return LINNET_OK;
}

static linnet_status set_colour(cli_request *request, const char *value, linnet_error *err)
{
    static const char *const words[] = {
        [COLOUR_AUTO] = "auto", [COLOUR_ALWAYS] = "always", [COLOUR_NEVER] = "never"
    };
    for (int i = 0; i < 3; i++) {
        if (strcmp(value, words[i]) == 0) {
            request->colour = (cli_colour)i;
            return LINNET_OK;
        }
    }
    return cli_refuse_value(err, "colour is auto, always or never, not `%s`", value);
}

enum {
    ALL_COMMANDS = CMD_MEMORY | CMD_DEVICES | CMD_TIME | CMD_FIT | CMD_CHECK | CMD_INSPECT |
                   CMD_EXPLAIN | CMD_MODELS | CMD_FORMULA | CMD_SCHEDULE | CMD_LAYOUT | CMD_COMPARE
};
enum { ANY_MODEL = SIZED | CMD_CHECK | CMD_INSPECT | CMD_EXPLAIN };

/* clang-format off */
static const cli_option options[] = {
    { SECTION_GOAL, "maximize", "WHAT", CMD_FIT, false, "batch, context, kv-cache or throughput: what is searched for", cli_set_maximize, NULL },
    { SECTION_GOAL, "advise", NULL, CMD_FIT, false, "the cheapest changes that make the configuration fit, in place of --maximize", cli_set_advise, NULL },
    { SECTION_GOAL, "devices-needed", "[N]", CMD_FIT, false, "the smallest number of devices, in place of --devices; of at most N (1024)", cli_set_devices_needed, NULL },
    { SECTION_GOAL, "tokens-per-second", "N", CMD_FIT, false, "the rate that is to be reached, of the whole job", cli_set_tokens_per_second, NULL },
    { SECTION_GOAL, "global-batch", "N", CMD_FIT, false, "sequences or positions of a step over all data-parallel ranks (what fits)", cli_set_global_batch, NULL },
    { SECTION_GOAL, "limit", "N", CMD_FIT, false, "layouts that are listed; 0: all (20)", cli_set_limit, NULL },
    { SECTION_GOAL, "explain", NULL, CMD_FIT, false, "also the layouts that were dropped, and why", cli_set_explain, NULL },
    { SECTION_GOAL, "with", "OPTIONS", CMD_COMPARE, true, "another configuration: what it changes, quoted; repeatable", cli_add_with, NULL },
    { SECTION_GOAL, "all", NULL, CMD_COMPARE, false, "also what is the same everywhere", cli_set_all, NULL },
    { SECTION_DEVICE, "device", "NAME|FILE", SIZED, false, "a name that `linnet devices` lists, or a profile file", set_device_name, NULL },
    { SECTION_DEVICE, "device-memory", "SIZE", CMD_MEMORY | CMD_FIT | CMD_COMPARE, false, "the memory of a device", set_device_memory, NULL },
    { SECTION_DEVICE, "reserve", "SIZE", CMD_FIT, false, "bytes of the device that are kept free (0)", cli_set_reserve, NULL },
    { SECTION_DEVICE, "reserve-percent", "P", CMD_FIT, false, "percent of the device that is kept free (0)", cli_set_reserve_percent, NULL },
    { SECTION_DEVICE, "must-fit", NULL, CMD_MEMORY | CMD_TIME | CMD_COMPARE, false, "exit status 1 when it does not fit the device", cli_set_must_fit, NULL },
    { SECTION_DEVICE, "time-model", "linnet|reference", CMD_TIME | CMD_FIT | CMD_COMPARE, false, "the model of time (linnet)", set_time_model, NULL },
    { SECTION_DEVICE, "training-loop", "free|megatron", CMD_TIME | CMD_COMPARE, false, "how the code around a training step goes through it (free)", set_training_loop, NULL },
    { SECTION_MODEL, "entry", "NAME", SIZED, false, "entry to analyse, of those `linnet models` lists (the only one, or forward)", set_entry, NULL },
    { SECTION_MODEL, "batch", "N", SIZED, false, "sequences: the generics B and Batch", set_batch, NULL },
    { SECTION_MODEL, "seq-len", "N", SIZED, false, "positions: the generics S, P, Seq and SeqLen", set_context, NULL },
    { SECTION_MODEL, "context", "N", SIZED, false, "the same as --seq-len", set_context, "seq-len" },
    { SECTION_MODEL, "cache-len", "N", SIZED, false, "positions of the caches: MaxSeq (the sequence length)", set_cache, NULL },
    { SECTION_MODEL, "bind", "G=VALUE", SIZED, true, "bind a generic to an integer or a dtype; repeatable", set_bind, NULL },
    { SECTION_MODEL, "dtype", "D", SIZED, false, "dtype of the root's float generics (the card's)", set_dtype, NULL },
    { SECTION_MODEL, "kv-dtype", "K[,V]", SIZED | CMD_INSPECT, false, "what caches are stored in; the second is for values (as declared)", set_kv_dtype, NULL },
    { SECTION_MODEL, "kv-window", "window|full", SIZED, false, "positions that layers with a window keep (window)", set_kv_window, NULL },
    { SECTION_MODEL, "kv-block-size", "N", SIZED, false, "paged caches of N positions a block (contiguous)", set_kv_block_size, NULL },
    { SECTION_MODEL, "expert-imbalance", "X", SIZED, false, "the fullest expert gets X times its share (1)", set_expert_imbalance, NULL },
    { SECTION_MODEL, "optional", "PATH", SIZED, true, "an optional parameter or block that is present; repeatable", set_optional, NULL },
    { SECTION_MODEL, "no-bindings", NULL, SIZED | CMD_INSPECT, false, "ignore the card's bindings: nothing tied, no optional parameter", set_no_bindings, NULL },
    { SECTION_MODEL, "root", "NAME", SIZED, false, "root block (the only one with entries)", set_root, NULL },
    { SECTION_MODEL, "std", "DIR", ANY_MODEL, false, "folder of the standard library (built in)", set_std, NULL },
    { SECTION_MODEL, "backend", "cuda|generic", SIZED, false, "resource model (cuda)", set_backend, NULL },
    { SECTION_MODEL, "numerics", "exact|equivalent|fast", SIZED | CMD_EXPLAIN, false, "which native implementations are allowed (fast)", set_numerics, NULL },
    { SECTION_MODEL, "context-bytes", "SIZE", SIZED, false, "size of the CUDA context (621 MiB)", set_context_bytes, NULL },
    { SECTION_TRAINING, "training", NULL, SIZED, false, "a training step of the entry, which must return a loss: loss_packed, or loss_packed_split with tensor parallelism", set_training, NULL },
    { SECTION_TRAINING, "optimizer", "NAME", SIZED, false, "sgd, sgd-momentum, adam, adamw, adamw-foreach, adamw-8bit, paged-adamw-8bit, adafactor, lion, muon (adamw)", set_optimizer, NULL },
    { SECTION_TRAINING, "checkpoint", "POLICY", SIZED, true, "none, block, every:K, selective or block patterns; repeat to compare (none)", set_checkpoint, NULL },
    { SECTION_TRAINING, "grad-accumulation", "N", SIZED, false, "micro-batches whose gradients are summed (1)", set_accumulation, NULL },
    { SECTION_TRAINING, "master-dtype", "D", SIZED, false, "dtype of master weights (none)", set_master_dtype, NULL },
    { SECTION_TRAINING, "gradient-dtype", "D", SIZED, false, "dtype gradients are summed in (the updated dtype)", set_gradient_dtype, NULL },
    { SECTION_TRAINING, "loss", "chunked|logits|logits-f32", SIZED, false, "form of the output head's cross-entropy (the model's)", set_loss, NULL },
    { SECTION_TRAINING, "lora", "R[:PATTERNS]", SIZED, false, "adapters of rank R on frozen linear layers", set_lora, NULL },
    { SECTION_TRAINING, "trainable", "PATTERN", SIZED, true, "paths of parameters that are trained; repeatable (*)", set_trainable, NULL },
    { SECTION_TRAINING, "clip-grad-norm", NULL, SIZED, false, "clip the gradients by their global norm", set_clip, NULL },
    { SECTION_TRAINING, "step", "first|steady", SIZED, false, "the step that makes the optimizer's states, or a later one (steady)", set_step, NULL },
    { SECTION_LAYOUT, "devices", "N", SIZED | CMD_LAYOUT, false, "devices of the job, which replicas fill", cli_set_devices, NULL },
    { SECTION_LAYOUT, "tensor-parallel", "N", SIZED | CMD_LAYOUT, false, "processes that split the weights (1)", cli_set_tensor_parallel, NULL },
    { SECTION_LAYOUT, "sequence-parallel", NULL, SIZED, false, "split positions between tensor-parallel products", cli_set_sequence_parallel, NULL },
    { SECTION_LAYOUT, "context-parallel", "N", SIZED | CMD_LAYOUT, false, "processes that split the positions of a training step (1)", cli_set_context_parallel, NULL },
    { SECTION_LAYOUT, "context-exchange", "HOW", SIZED, false, "ring or all-gather of keys and values (ring)", cli_set_context_exchange, NULL },
    { SECTION_LAYOUT, "expert-parallel", "N", SIZED | CMD_LAYOUT, false, "processes that split the experts of a mixture (1)", cli_set_expert_parallel, NULL },
    { SECTION_LAYOUT, "shards", "N", SIZED | CMD_LAYOUT, false, "processes that split a training step's states (1)", cli_set_shards, NULL },
    { SECTION_LAYOUT, "zero", "1|2|3", SIZED, false, "the shards split optimizer states, gradients too, weights too (3)", cli_set_zero, NULL },
    { SECTION_LAYOUT, "reshard", "WHEN", SIZED, false, "weights after forward: always, never, or over N processes (always)", cli_set_reshard, NULL },
    { SECTION_LAYOUT, "prefetch", "DEPTH", SIZED, false, "groups of sharded weights gathered ahead (0)", cli_set_prefetch, NULL },
    { SECTION_LAYOUT, "replicas", "N", SIZED | CMD_LAYOUT, false, "copies on data of their own (1)", cli_set_replicas, NULL },
    { SECTION_LAYOUT, "order", "AXES", CMD_LAYOUT, false, "axes of the ranks, the fastest first (tp-cp-ep-dp-pp)", cli_set_order, NULL },
    { SECTION_PIPELINE, "pipeline-parallel", "N", SIZED | CMD_LAYOUT, false, "stages of a pipeline (1)", cli_set_pipeline_parallel, NULL },
    { SECTION_PIPELINE, "schedule", "NAME|FILE", SIZED, false, "the order of a pipeline's passes, as `linnet schedule` prints it (1f1b)", cli_set_schedule, NULL },
    { SECTION_PIPELINE, "ranks", "P", CMD_SCHEDULE, false, "ranks of the pipeline", set_ranks, NULL },
    { SECTION_PIPELINE, "microbatches", "M", CMD_SCHEDULE | SIZED, false, "micro-batches of a step (1)", set_microbatches, NULL },
    { SECTION_PIPELINE, "virtual-stages", "V", CMD_SCHEDULE | SIZED, false, "stages a rank of the looped kinds (2)", set_virtual_stages, NULL },
    { SECTION_PIPELINE, "stages", "BLOCK,BLOCK", SIZED, false, "the block each later stage starts at (balanced)", cli_set_stages, NULL },
    { SECTION_PIPELINE, "stages-by", "bytes|time", SIZED, false, "what stages are balanced by: their parameters, or a device's time (bytes)", cli_set_stages_by, NULL },
    { SECTION_PIPELINE, "pipeline-model", "linnet|published", SIZED, false, "a pipeline's ranks replayed, or by closed forms (linnet)", cli_set_pipeline_model, NULL },
    { SECTION_OUTPUT, "top", "N", CMD_MEMORY | CMD_FIT, false, "the N largest tensors live at the peak (0)", set_top, NULL },
    { SECTION_OUTPUT, "timeline", NULL, CMD_MEMORY | CMD_FIT, false, "bytes by category at every moment, in the JSON", set_timeline, NULL },
    { SECTION_OUTPUT, "svg", "FILE", CMD_MEMORY | CMD_FIT, false, "the timeline as a picture; `-` in place of the report", set_svg, NULL },
    { SECTION_OUTPUT, "html", "FILE", CMD_MEMORY | CMD_FIT, false, "a page with the timeline, the breakdown and the table; `-` in place of the report", set_html, NULL },
    { SECTION_OUTPUT, "output", "FILE", CMD_SWEEP, false, "where the answers go (standard output)", cli_set_output, NULL },
    { SECTION_OUTPUT, "resume", NULL, CMD_SWEEP, false, "go on behind the answers that the output has", cli_set_resume, NULL },
    { SECTION_OUTPUT, "part", "I/N", CMD_SWEEP, false, "the I-th of N parts of the questions, in order", cli_set_part, NULL },
    { SECTION_OUTPUT, "threads", "N", CMD_FIT | CMD_SWEEP, false, "threads that search or answer (1)", cli_set_threads, NULL },
    { SECTION_OUTPUT, "strict", NULL, CMD_CHECK, false, "warnings count as errors", set_strict, NULL },
    { SECTION_OUTPUT, "parameters", NULL, CMD_INSPECT, false, "the parameter manifest of every block of the file", set_parameters, NULL },
    { SECTION_OUTPUT, "svg", NULL, CMD_SCHEDULE, false, "a picture in place of the table", set_draw, NULL },
    { SECTION_OUTPUT, "json", NULL, ALL_COMMANDS, false, "one JSON document on standard output", set_json, NULL },
    { SECTION_OUTPUT, "color", "WHEN", ALL_COMMANDS, false, "auto, always or never (auto)", set_colour, NULL },
    { SECTION_OUTPUT, "help", NULL, ALL_COMMANDS | CMD_SWEEP, false, "this text", set_help, NULL },
};
/* clang-format on */

enum { OPTION_COUNT = sizeof options / sizeof options[0] };
_Static_assert((int)OPTION_COUNT < (int)CLI_MAX_OPTIONS, "room for every option");

const cli_option *cli_options(int *out_count)
{
    *out_count = OPTION_COUNT;
    return options;
}

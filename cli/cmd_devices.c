/* SPDX-License-Identifier: MIT */

/* linnet devices: the GPUs known by name. linnet devices NAME: one profile's figures. */

#include "cli.h"
#include <inttypes.h>
#include <stdlib.h>

/* Rounded to nearest, without the C library's floating output. */
static int64_t rounded(double value)
{
    return (int64_t)(value + 0.5);
}

static void add_row(cli_buffer *out, const linnet_device *device)
{
    const int64_t gib = (int64_t)1 << 30;
    const int64_t hundredths = (linnet_device_memory(device) * 100 + gib / 2) / gib;
    cli_add(out,
            "%-16s %5" PRId64 ".%02" PRId64 " GiB %7" PRId64 " %7" PRId64 " %7" PRId64 " %6" PRId64
            "  %s\n",
            linnet_device_name(device), hundredths / 100, hundredths % 100,
            rounded(linnet_device_flops(device, "bf16") / 1e12),
            rounded(linnet_device_flops(device, "f32") / 1e12),
            rounded(linnet_device_bandwidth(device) / 1e9),
            rounded(linnet_device_link(device) / 1e9), linnet_device_title(device));
}

static void add_json_row(cli_buffer *out, const linnet_device *device, bool first)
{
    cli_add(out, "%s    {\n      \"name\": ", first ? "" : ",\n");
    cli_add_json(out, linnet_device_name(device));
    cli_add(out, ",\n      \"title\": ");
    cli_add_json(out, linnet_device_title(device));
    cli_add(out, ",\n      \"source\": ");
    cli_add_json(out, linnet_device_source(device));
    cli_add(out,
            ",\n      \"memory\": %" PRId64 ",\n      \"total_memory\": %" PRId64
            ",\n      \"flops\": { \"bf16\": %" PRId64 ", \"f16\": %" PRId64 ", \"f32\": %" PRId64
            " },\n      \"bandwidth\": %" PRId64 ",\n      \"link\": %" PRId64 "\n    }",
            linnet_device_memory(device), linnet_device_total_memory(device),
            rounded(linnet_device_flops(device, "bf16")),
            rounded(linnet_device_flops(device, "f16")),
            rounded(linnet_device_flops(device, "f32")), rounded(linnet_device_bandwidth(device)),
            rounded(linnet_device_link(device)));
}

static int print_list(const cli_request *request)
{
    cli_buffer out = { 0 };
    linnet_error err;
    if (request->json)
        cli_add(&out, "{\n  \"version\": 1,\n  \"devices\": [\n");
    else
        cli_add(&out, "%-16s %12s %7s %7s %7s %6s\n%-16s %12s %15s %14s\n", "name", "memory",
                "bf16", "f32", "memory", "link", "", "", "TFLOP/s", "GB/s");
    for (uint64_t i = 0; i < linnet_builtin_device_count(); i++) {
        linnet_device *device = NULL;
        if (linnet_device_open(request->config, linnet_builtin_device_name(i), &device, &err) !=
            LINNET_OK) {
            free(out.data);
            return cli_fail(&err);
        }
        if (request->json)
            add_json_row(&out, device, i == 0);
        else
            add_row(&out, device);
        linnet_device_unref(device);
    }
    if (request->json)
        cli_add(&out, "\n  ]\n}\n");
    return cli_print_buffer(&out);
}

static int print_one(const cli_request *request, const char *name)
{
    linnet_device *device = NULL;
    linnet_text *text = NULL;
    linnet_error err;
    linnet_status status = linnet_device_open(request->config, name, &device, &err);
    if (status == LINNET_OK)
        status =
            (request->json ? linnet_device_to_json : linnet_device_to_text)(device, &text, &err);
    linnet_device_unref(device);
    return status == LINNET_OK ? cli_print_text(text) : cli_fail(&err);
}

int cli_run_devices(cli_request *request)
{
    if (request->word_count > 1)
        return cli_usage_error(cli_find_command("devices"), "one device at a time");
    return request->word_count == 0 ? print_list(request) : print_one(request, request->words[0]);
}

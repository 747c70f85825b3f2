/* SPDX-License-Identifier: MIT */

/*
 * Every enumerator ever released and its value. abidiff does not see these: no exported function
 * mentions the enum types. The script beside this file, check-constants, looks that no enumerator
 * of the headers is missing here.
 */

#include <linnet/linnet.h>
#include <stdio.h>

static const struct constant {
    const char *name;
    int64_t value, released;
} constants[] = {
    { "LINNET_OK", LINNET_OK, 0 },
    { "LINNET_ERROR_NO_MEMORY", LINNET_ERROR_NO_MEMORY, -1 },
    { "LINNET_ERROR_ARGUMENT", LINNET_ERROR_ARGUMENT, -2 },
    { "LINNET_ERROR_CANCELLED", LINNET_ERROR_CANCELLED, -3 },
    { "LINNET_ERROR_NOT_FOUND", LINNET_ERROR_NOT_FOUND, -4 },
    { "LINNET_ERROR_SOURCE", LINNET_ERROR_SOURCE, -10 },
    { "LINNET_ERROR_OVERFLOW", LINNET_ERROR_OVERFLOW, -11 },
    { "LINNET_ERROR_FILE", LINNET_ERROR_FILE, -12 },
    { "LINNET_ERROR_FORMAT", LINNET_ERROR_FORMAT, -13 },
    { "LINNET_ERROR_UNSUPPORTED", LINNET_ERROR_UNSUPPORTED, -14 },
    { "LINNET_ERROR_CAPACITY", LINNET_ERROR_CAPACITY, -20 },
    { "LINNET_SEVERITY_INVALID", LINNET_SEVERITY_INVALID, -1 },
    { "LINNET_SEVERITY_ERROR", LINNET_SEVERITY_ERROR, 0 },
    { "LINNET_SEVERITY_WARNING", LINNET_SEVERITY_WARNING, 1 },
    { "LINNET_SEVERITY_NOTE", LINNET_SEVERITY_NOTE, 2 },
    { "LINNET_CONFIDENCE_INVALID", LINNET_CONFIDENCE_INVALID, -1 },
    { "LINNET_CONFIDENCE_EXACT", LINNET_CONFIDENCE_EXACT, 0 },
    { "LINNET_CONFIDENCE_BACKEND_MODELED", LINNET_CONFIDENCE_BACKEND_MODELED, 1 },
    { "LINNET_CONFIDENCE_ESTIMATED", LINNET_CONFIDENCE_ESTIMATED, 2 },
    { "LINNET_CONFIDENCE_UNKNOWN", LINNET_CONFIDENCE_UNKNOWN, 3 },
    { "LINNET_ACTION_INVALID", LINNET_ACTION_INVALID, -1 },
    { "LINNET_ACTION_FORWARD", LINNET_ACTION_FORWARD, 0 },
    { "LINNET_ACTION_BACKWARD", LINNET_ACTION_BACKWARD, 1 },
    { "LINNET_ACTION_INPUT", LINNET_ACTION_INPUT, 2 },
    { "LINNET_ACTION_WEIGHT", LINNET_ACTION_WEIGHT, 3 },
    { "LINNET_ACTION_SEND_FORWARD", LINNET_ACTION_SEND_FORWARD, 4 },
    { "LINNET_ACTION_RECV_FORWARD", LINNET_ACTION_RECV_FORWARD, 5 },
    { "LINNET_ACTION_SEND_BACKWARD", LINNET_ACTION_SEND_BACKWARD, 6 },
    { "LINNET_ACTION_RECV_BACKWARD", LINNET_ACTION_RECV_BACKWARD, 7 },
    { "LINNET_ACTION_UNSHARD", LINNET_ACTION_UNSHARD, 8 },
    { "LINNET_ACTION_RESHARD", LINNET_ACTION_RESHARD, 9 },
    { "LINNET_ACTION_REDUCE", LINNET_ACTION_REDUCE, 10 },
    { "LINNET_ACTION_STEP", LINNET_ACTION_STEP, 11 },
};

int main(void)
{
    int wrong = 0;
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++) {
        if (constants[i].value == constants[i].released)
            continue;
        fprintf(stderr, "%s was released as %lld\n", constants[i].name,
                (long long)constants[i].released);
        wrong = 1;
    }
    return wrong || sizeof(linnet_error) != 512;
}

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The memory of one configuration, from Python through ctypes: memory.py [LIBRARY].

Every function gets its argtypes: without them ctypes cuts pointers to 32 bits.
"""
import ctypes as C
import sys


class Error(C.Structure):
    _fields_ = [("code", C.c_int32), ("line", C.c_uint32), ("column", C.c_uint32),
                ("reserved", C.c_uint32 * 3), ("diagnostic", C.c_char * 8),
                ("source", C.c_char * 64), ("message", C.c_char * 416)]


assert C.sizeof(Error) == 512
Handle = C.c_void_p
ErrorOut = C.POINTER(Error)


def declare(lib, name, result, *arguments):
    function = getattr(lib, name)
    function.restype, function.argtypes = result, list(arguments)
    return function


def load(path):
    lib = C.CDLL(path)
    out = C.POINTER(Handle)
    for name, arguments in {
            "config_new": [out], "config_set_batch": [Handle, C.c_int64], "config_set_context": [Handle, C.c_int64],
            "model_open": [Handle, C.c_char_p, Handle, out], "analysis_new": [Handle, Handle, out],
            "planner_new": [Handle, Handle, out],
            "planner_peaks": [Handle, C.c_int64, C.c_int64, C.c_int64, Handle, C.POINTER(C.c_int64), Handle]}.items():
        declare(lib, "linnet_" + name, C.c_int32, *arguments, ErrorOut)
    for name in "graph_peak", "expected_peak", "allocator_peak":
        declare(lib, "linnet_analysis_" + name, C.c_int64, Handle)
    declare(lib, "linnet_analysis_component_count", C.c_uint64, Handle)
    declare(lib, "linnet_analysis_component_name", C.c_char_p, Handle, C.c_uint64)
    declare(lib, "linnet_analysis_component_bytes", C.c_int64, Handle, C.c_uint64)
    for name in "config_free", "model_unref", "analysis_unref", "planner_free":
        declare(lib, "linnet_" + name, None, Handle)
    return lib


def call(function, *arguments):
    err = Error()
    if function(*arguments, C.byref(err)) < 0:
        raise RuntimeError(err.message.decode())


def main():
    lib = load(sys.argv[1] if len(sys.argv) > 1 else "liblinnet.so.0.1")
    config, model, analysis, planner = Handle(), Handle(), Handle(), Handle()
    call(lib.linnet_config_new, C.byref(config))
    call(lib.linnet_config_set_batch, config, 1)
    call(lib.linnet_config_set_context, config, 8192)
    call(lib.linnet_model_open, config, b"llama-3.1-8b-instruct", None, C.byref(model))
    call(lib.linnet_analysis_new, model, config, C.byref(analysis))
    for i in range(lib.linnet_analysis_component_count(analysis)):
        size = lib.linnet_analysis_component_bytes(analysis, i)
        if size >= 0:  # -1: not known
            print(f"{lib.linnet_analysis_component_name(analysis, i).decode()}: {size}")
    print("graph peak:", lib.linnet_analysis_graph_peak(analysis))
    print("expected peak:", lib.linnet_analysis_expected_peak(analysis))
    print("allocator peak:", lib.linnet_analysis_allocator_peak(analysis))
    call(lib.linnet_planner_new, model, config, C.byref(planner))
    expected = C.c_int64()
    call(lib.linnet_planner_peaks, planner, 4, 0, 0, None, C.byref(expected), None)
    print("expected peak of batch 4:", expected.value)
    lib.linnet_planner_free(planner)
    lib.linnet_analysis_unref(analysis)
    lib.linnet_model_unref(model)
    lib.linnet_config_free(config)


main()

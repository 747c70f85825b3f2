/* SPDX-License-Identifier: MIT */

/* A formula with values put in, for people and as JSON. Whole numbers are printed in full, in
 * groups of three for people; what is no whole number also as a fraction. */

#include "formula/formula.h"
#include <string.h>

enum { NUMBER_TEXT = 40 };

/* 8030261248 as "8,030,261,248". */
static void add_grouped(lin_text *out, int64_t value)
{
    char digits[NUMBER_TEXT];
    uint32_t count = 0;
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[count++] = (char)('0' + size % 10);
        size /= 10;
    } while (size != 0);
    lin_text_add(out, value < 0 ? "-" : "");
    while (count-- > 0) {
        lin_text_append(out, &digits[count], 1);
        lin_text_add(out, count > 0 && count % 3 == 0 ? "," : "");
    }
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name_character(char c)
{
    return is_name_start(c) || (c >= '0' && c <= '9') || c == '_';
}

/* A name's value; a function's name stays. */
static void add_name(lin_text *out, const lin_formula_answer *answer, const char *name,
                     uint64_t length)
{
    const lin_formula_symbol *symbols = answer->formula->symbols;
    for (uint32_t i = 0; symbols[i].name != NULL; i++) {
        if (strlen(symbols[i].name) == length && memcmp(symbols[i].name, name, length) == 0) {
            lin_text_i64(out, answer->values[i]);
            return;
        }
    }
    lin_text_append(out, name, length);
}

static void add_put_in(lin_text *out, const lin_formula_answer *answer)
{
    const char *at = answer->formula->expression;
    while (*at != '\0') {
        uint64_t length = 0;
        if (is_name_start(*at))
            while (is_name_character(at[length]))
                length++;
        if (length > 0)
            add_name(out, answer, at, length);
        else
            lin_text_append(out, at, length = 1);
        at += length;
    }
}

static double as_double(lin_ratio ratio)
{
    return (double)ratio.numerator / (double)ratio.denominator;
}

/* "186,504", "1/21", "7/2 = 3.50". */
static void add_ratio(lin_text *out, lin_ratio ratio)
{
    add_grouped(out, ratio.numerator);
    if (ratio.denominator == 1)
        return;
    lin_text_add(out, "/");
    add_grouped(out, ratio.denominator);
}

static bool is_unit(const lin_formula *formula, const char *unit)
{
    return strcmp(formula->unit, unit) == 0;
}

static bool is_share(const lin_formula *formula)
{
    return strncmp(formula->unit, "of ", 3) == 0;
}

/* "91,804,925,952 bytes = 91.80 GB = 85.50 GiB", "1/21 = 4.76 % of a step's arithmetic". */
static void add_result(lin_text *out, const lin_formula_answer *answer)
{
    const lin_formula *formula = answer->formula;
    const lin_ratio result = answer->result;
    char binary[LIN_BYTES_TEXT];
    add_ratio(out, result);
    if (is_share(formula)) {
        lin_text_add(out, " = ");
        lin_text_fixed(out, 100 * as_double(result), 2);
        lin_text_add(out, " %");
    } else if (result.denominator != 1) {
        lin_text_add(out, " = ");
        lin_text_fixed(out, as_double(result), 2);
    }
    lin_text_addf(out, " %s", formula->unit);
    if (!is_unit(formula, "bytes") || result.numerator / result.denominator < 1024)
        return;
    if (result.numerator / result.denominator >= 1000000000) {
        lin_text_add(out, " = ");
        lin_text_fixed(out, as_double(result) / 1e9, 2);
        lin_text_add(out, " GB");
    }
    lin_format_bytes(binary, result.numerator / result.denominator);
    lin_text_addf(out, " = %s", binary);
}

/* "  s =  2,048  positions of a sequence", one line a symbol, names and values in columns. */
static void add_symbols(lin_text *out, const lin_formula_answer *answer)
{
    const lin_formula_symbol *symbols = answer->formula->symbols;
    uint64_t widest_name = 0, widest_value = 0;
    lin_text value;
    lin_text_init(&value, &out->allocator);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; symbols[i].name != NULL; i++) {
            const uint64_t name = strlen(symbols[i].name);
            lin_text_clear(&value);
            add_grouped(&value, answer->values[i]);
            widest_name = name > widest_name ? name : widest_name;
            widest_value = value.length > widest_value ? value.length : widest_value;
            if (pass == 0)
                continue;
            lin_text_addf(out, "  %s", symbols[i].name);
            lin_text_fill(out, ' ', widest_name - name);
            lin_text_add(out, " = ");
            lin_text_fill(out, ' ', widest_value - value.length);
            lin_text_addf(out, "%s  %s", lin_text_data(&value),
                          lin_formula_meaning(symbols[i].name));
            if (!answer->given[i])
                lin_text_addf(out, ", as %s", symbols[i].otherwise);
            lin_text_add(out, "\n");
        }
    }
    out->failed |= value.failed;
    lin_text_free(&value);
}

static void add_source(lin_text *out, const char *source)
{
    static const char derived[] = "derivation: ";
    const bool is_derived = strncmp(source, derived, sizeof derived - 1) == 0;
    lin_text_addf(out, "%s: %s.\n", is_derived ? "Derivation" : "Source",
                  is_derived ? source + sizeof derived - 1 : source);
}

void lin_formula_print(lin_text *out, const lin_formula_answer *answer)
{
    const lin_formula *formula = answer->formula;
    lin_text_addf(out, "%s: %s\n\n", formula->name, formula->title);
    add_symbols(out, answer);
    lin_text_add(out, formula->symbols[0].name != NULL ? "\n" : "");
    lin_text_addf(out, "  %s\n", formula->expression);
    if (formula->symbols[0].name != NULL) {
        lin_text_add(out, "  = ");
        add_put_in(out, answer);
        lin_text_add(out, "\n");
    }
    lin_text_add(out, "  = ");
    add_result(out, answer);
    lin_text_add(out, "\n\n");
    add_source(out, formula->source);
}

/* ---- JSON ---- */

static void write_text(lin_writer *w, const char *key, const char *text)
{
    lin_write_key(w, key);
    lin_write_string(w, text);
}

static void write_symbols(lin_writer *w, const lin_formula_answer *answer)
{
    const lin_formula_symbol *symbols = answer->formula->symbols;
    lin_write_key(w, "symbols");
    lin_write_array(w);
    for (uint32_t i = 0; symbols[i].name != NULL; i++) {
        lin_write_object(w);
        write_text(w, "name", symbols[i].name);
        write_text(w, "meaning", lin_formula_meaning(symbols[i].name));
        write_text(w, "default", symbols[i].otherwise);
        lin_write_key(w, "given");
        lin_write_bool(w, answer->given[i]);
        lin_write_key(w, "value");
        lin_write_i64(w, answer->values[i]);
        lin_write_object_end(w);
    }
    lin_write_array_end(w);
}

/* `value` is null when the result is no whole number. */
static void write_result(lin_writer *w, const lin_formula_answer *answer)
{
    lin_write_key(w, "result");
    lin_write_object(w);
    lin_write_key(w, "value");
    if (answer->result.denominator == 1)
        lin_write_i64(w, answer->result.numerator);
    else
        lin_write_null(w);
    lin_write_key(w, "numerator");
    lin_write_i64(w, answer->result.numerator);
    lin_write_key(w, "denominator");
    lin_write_i64(w, answer->result.denominator);
    write_text(w, "unit", answer->formula->unit);
    lin_write_object_end(w);
}

void lin_formula_write_json(lin_text *out, const lin_formula_answer *answer)
{
    const lin_formula *formula = answer->formula;
    lin_text put_in;
    lin_writer w;
    lin_text_init(&put_in, &out->allocator);
    add_put_in(&put_in, answer);
    lin_writer_init(&w, out);
    lin_write_object(&w);
    lin_write_key(&w, "version");
    lin_write_i64(&w, 1);
    write_text(&w, "formula", formula->name);
    write_text(&w, "title", formula->title);
    write_text(&w, "expression", formula->expression);
    write_text(&w, "put_in", lin_text_data(&put_in));
    write_symbols(&w, answer);
    write_result(&w, answer);
    write_text(&w, "source", formula->source);
    lin_write_object_end(&w);
    lin_writer_end(&w);
    out->failed |= put_in.failed;
    lin_text_free(&put_in);
}

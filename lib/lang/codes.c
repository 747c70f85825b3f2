/* SPDX-License-Identifier: MIT */

/*
 * What each diagnostic code means (language.md 17.1), for `linnet explain`: one row a code, in the
 * order of their numbers. A text is paragraphs of one line each; an example is indented by four.
 */

#include "lang/diagnostics.h"

#include <string.h>

/* clang-format off */
static const lin_code_meaning meanings[] = {
    { "E1001", "character or bytes not allowed in source",
      "Source text is UTF-8, and outside comments and strings only ASCII is accepted: "
      "letters, digits, `_`, blanks, line ends, quotes and the operators of the "
      "language. A run of unusable characters is reported once. Typographic quotes and "
      "dashes, pasted from a document, are the usual cause.\n\n"
      "    let y = x – 1     // wrong: an en dash\n"
      "    let y = x - 1     // right" },
    { "E1002", "comment is never closed",
      "A `/*` has no `*/`. Block comments nest, so each `/*` inside a comment needs a "
      "`*/` of its own. The position shown is the outermost comment that stays open; the "
      "rest of the file belongs to it." },
    { "E1003", "malformed string or escape",
      "A string stands on one line between two `\"`. After a backslash only n, r, t, 0, a "
      "backslash, a quote, or `u{...}` with one to six hexadecimal digits of a Unicode "
      "character may follow.\n\n"
      "    \"C:\\\\data\"       // right: the backslash is doubled\n"
      "    \"\\u{1F600}\"      // right" },
    { "E1004", "reserved word used as a name",
      "These words are kept for later versions and cannot name anything: async, await, "
      "derive, device, effect, impl, macro, mut, ref, rng, trait, unsafe. Choose another "
      "name; a trailing `_` is enough.\n\n"
      "    fn f(device: f32) { }     // wrong\n"
      "    fn f(device_: f32) { }    // right" },
    { "E1005", "malformed number",
      "A decimal number has no leading zero, no suffix, and `_` only between two digits. "
      "Hexadecimal numbers begin with `0x`, binary ones with `0b`, and an exponent needs "
      "at least one digit. A minus sign is an operator, not part of the number.\n\n"
      "    1_000, 0xff, 2.5, 1e-5    // right\n"
      "    007, 1__0, 1e, 10f, 0xg    // wrong" },
    { "E1101", "unexpected token",
      "The text does not continue as the grammar says it may; the message names what was "
      "expected and what stands there. Frequent causes: a bracket that is not closed on "
      "the lines above, an expression that stands alone (a value must be bound or "
      "returned), `else if` (the second `if` goes inside the braces of `else`), a comma "
      "between the fields of a struct, and nesting deeper than 256 levels.\n\n"
      "    if a { x } else if b { y } else { z }         // wrong\n"
      "    if a { x } else { if b { y } else { z } }     // right" },
    { "E1102", "file does not start with `module`",
      "The first declaration of every file names its module. Only comments may stand "
      "before it.\n\n"
      "    module models.tiny" },
    { "E1103", "reserved syntax",
      "The text has a form that the language keeps for later and does not accept yet: "
      "`extern` items, imports from `self` or `super`, enum variants with a payload, and "
      "tensors without dimensions. A scalar is written as its element type alone.\n\n"
      "    Tensor[; f32]     // wrong\n"
      "    f32               // right" },
    { "E1201", "undeclared name",
      "Nothing of that name is visible here. Names are looked up among the locals, the "
      "parameters and generics of the function, the members, methods and generics of its "
      "block, the items and imports of the module, and the prelude. Items of other "
      "modules need a `use`; the nearest known name is suggested when there is one.\n\n"
      "    use std.nn.linear::{linear}" },
    { "E1202", "module not found",
      "No file holds the imported module. `std...` is the standard library, `crate...` "
      "the package of the importing file, and any other first word a dependency that "
      "linnet.toml declares. `use crate.a.b` reads src/a/b.linnet below the directory of "
      "linnet.toml." },
    { "E1203", "private item",
      "The item exists in the other module and is not `pub`. Everything is private to "
      "its module unless it says otherwise; methods that another module calls need `pub` "
      "too." },
    { "E1204", "duplicate item",
      "Two items or imports of one module have the same name. Rename one of them, or "
      "give an import another name.\n\n"
      "    use a::{scale as scale_a}" },
    { "E1205", "duplicate name in a declaration",
      "Two parameters, generics, fields, members or variants of one declaration have the "
      "same name. Each of them must be told apart by name, because arguments may be "
      "given by keyword." },
    { "E1206", "import cycle",
      "A module imports itself, directly or through others. Move what both sides need "
      "into a third module that imports neither." },
    { "E1207", "a prelude name is declared",
      "The names of the prelude (cast, exp, min, reshape, concat, ...), the scalar "
      "types, `Tensor` and the six constraint words mean the same everywhere and cannot "
      "be declared again, not even as a local.\n\n"
      "    let exp = 2.0         // wrong\n"
      "    let exponent = 2.0    // right" },
    { "E1208", "name of the wrong kind",
      "The name is known and means something else than its place needs: a function "
      "stands where a value is wanted, a constant where a type is, a type where a "
      "function is. A function must be called; a dimension must be a compile-time "
      "integer." },
    { "E2101", "type mismatch",
      "The value has another type than its place declares. Nothing is converted "
      "implicitly: a bare value is not an optional (wrap it in `some`), a tuple not a "
      "struct, a scalar not a tensor.\n\n"
      "    let y: Tensor[N; f32]? = x          // wrong\n"
      "    let y: Tensor[N; f32]? = some(x)    // right" },
    { "E2102", "wrong arguments",
      "A call gives too many or too few arguments, names a parameter that does not "
      "exist, gives one twice, or puts a positional argument after a keyword. A struct's "
      "value needs every field by keyword.\n\n"
      "    Pair(a = x, b = y)" },
    { "E2103", "dtype mismatch",
      "Two operands, or a value and its place, have different dtypes. There is no "
      "implicit conversion; write the conversion you mean.\n\n"
      "    a + b                // wrong: bf16 and f32\n"
      "    cast<f32>(a) + b     // right" },
    { "E2104", "operator on a type it does not support",
      "The operator, prelude function or reduction is not defined for this type: "
      "arithmetic and ordering need numbers, bit operations integers or `bool`, exp and "
      "its like floating point, `any` and `all` `bool`. A generic declared as `DType` "
      "may be `bool`; `Numeric`, `Integer` or `Float` promises more." },
    { "E2105", "literal out of range",
      "The number does not fit into the dtype it takes from its place, or into 64 bits "
      "at all. A dtype with more bits, or a smaller number, cures it.\n\n"
      "    let b: u8 = 300      // wrong: u8 ends at 255" },
    { "E2106", "call of something that is no function",
      "What stands before the `(` is a value, a member or a type without fields to build "
      "from. Only functions, operations, entries, methods and structs can be called." },
    { "E2107", "unknown member, method, field or variant",
      "The block, struct, enum or module before the `.` has nothing of that name. The "
      "nearest name it has is suggested when there is one." },
    { "E2108", "assignment to something immutable",
      "Only a `var` of the function and a `state` of its own block can be assigned. A "
      "`let`, a parameter, a `param`, a `buffer` and a `sub` keep their value.\n\n"
      "    let y = x            // wrong when y is assigned later\n"
      "    var y = x            // right" },
    { "E2109", "assignment of another type",
      "A `var` or a `state` keeps the type of its declaration. The new value must have "
      "exactly that dtype and shape." },
    { "E2110", "generic cannot be inferred",
      "The arguments of the call do not determine one of the callee's generics, and it "
      "has no default. Write it.\n\n"
      "    iota(N)              // T has a default\n"
      "    cast<f32>(x)         // T must be written" },
    { "E2111", "wrong generic arguments",
      "More generic arguments are written than the declaration has, or one of another "
      "kind: a dtype where a dimension is wanted, a single dimension where a shape is. A "
      "shape is written in brackets.\n\n"
      "    reorder<[R], 2 * H, T>(x)" },
    { "E2112", "dtype outside its class",
      "The dtype given for a generic does not belong to the class it is declared with: "
      "`Numeric` is all but `bool`, `Integer` the signed and unsigned integers, `Float` "
      "f16, bf16, f32 and f64." },
    { "E2113", "`none` without a type",
      "`none` is a value of every optional type, so its place must say which. Annotate "
      "it.\n\n"
      "    let bias = none                       // wrong\n"
      "    let bias: Tensor[N; f32]? = none      // right" },
    { "E2114", "condition is not a scalar `bool`",
      "`if` and `while` decide once and need a scalar condition. To decide element by "
      "element use `select`, whose condition is a `bool` scalar or tensor.\n\n"
      "    if x > 0.0 { x } else { -x }          // wrong for a tensor x\n"
      "    select(x > 0.0, x, -x)                // right" },
    { "E2115", "branches differ",
      "The two branches of an `if`, or the arms of a `match`, give values of different "
      "types. Both must have one dtype and one shape." },
    { "E2116", "logical operator on something else than a scalar `bool`",
      "`&&`, `||` and `!` work on scalar conditions and skip the right side. On tensors "
      "of `bool` use `&`, `|` and `^`, which work element by element." },
    { "E2117", "impossible pattern",
      "The pattern cannot match, or does not belong here: `some` and `none` need an "
      "optional value in a `match`, a variant its own enum, and nothing can match after "
      "a name that catches everything. A `let` takes names and tuples only." },
    { "E2118", "match is not exhaustive",
      "A value could arrive for which there is no arm. Add the missing arms, or a name "
      "that catches the rest.\n\n"
      "    match b {\n"
      "        some(v) => x + v\n"
      "        none => x\n"
      "    }" },
    { "E2119", "recursion",
      "A function calls itself, directly or through others. Programs are traced by "
      "running every call, so calls cannot go round in a circle; a loop or a block array "
      "says the same." },
    { "E2120", "missing or misplaced `return` or `yield`",
      "A function with a result ends with `return`, and `return` cannot stand inside a "
      "loop. A `for` whose value is used ends with `yield`, which stands nowhere else." },
    { "E2121", "`static for` over something else",
      "`static for` walks a block array or a range of compile-time integers. For a "
      "run-time range use `for`.\n\n"
      "    static for layer in layers { }\n"
      "    static for i in 0..3 { }" },
    { "E2122", "declaration in terms of itself",
      "To know this declaration one would have to know it already: an alias, a constant, "
      "a struct or a block that contains itself, directly or through others." },
    { "E2123", "compile-time integer required",
      "Shapes, the lengths of block arrays, static ranges and slice bounds are made of "
      "integer literals, `Dim` generics and unannotated integer constants with + - * / "
      "%, min and max. A value that exists only while the program runs, or arithmetic "
      "past 64 bits, cannot stand there." },
    { "E2190", "feature not implemented",
      "The form is part of the language and this version does not analyse it. The "
      "message names it; programs that do not reach it are not affected." },
    { "E2201", "index used with different extents",
      "An index of the index notation runs over axes that are not provably equal. Every "
      "axis that one index names has one extent; a `where` clause can state that two "
      "generics are equal." },
    { "E2202", "shape mismatch",
      "The shape of a value cannot be proved equal to the shape its place declares. The "
      "notes show both. When they are equal for a reason the checker does not know, "
      "state it in a `where` clause." },
    { "E2203", "reshape changes the number of elements",
      "The element counts before and after a `reshape` cannot be proved equal. With `/` "
      "in a shape, a divisibility fact is usually missing.\n\n"
      "    where W % 2 == 0 {\n"
      "        return reshape(x, [R, 2, W / 2])" },
    { "E2204", "wrong number of indices",
      "An access has more components than its tensor has axes, more than one `...`, or, "
      "inside index notation, does not name every axis." },
    { "E2205", "divisor may be zero",
      "A dimension is divided by something that cannot be proved positive. State it.\n\n"
      "    where N > 0" },
    { "E2206", "`where` clause not provable here",
      "The callee, or the block that is instantiated, demands a fact about its "
      "dimensions that cannot be proved from the facts in force. Repeat the demand in a "
      "`where` clause of this declaration, so that its callers prove it." },
    { "E2207", "shapes do not broadcast",
      "Shapes are aligned from the right; each pair of extents must be provably equal, "
      "or one of them provably 1. A shape pack matches only itself." },
    { "E2208", "dimension is negative",
      "A dimension is provably less than zero, whatever its generics are." },
    { "E2209", "bad index or slice",
      "An index is provably outside its axis, negative, or not constant where it must "
      "be; slice bounds are compile-time integers from 0 on, and a step is positive. "
      "There are no negative indices: the last element of an axis of length N is N - 1.\n\n"
      "    x[-1]         // wrong\n"
      "    x[N - 1]      // right" },
    { "E2210", "bad axis or permutation",
      "An axis argument does not name an axis of the operand, or the axes of a `permute` "
      "are not each of them once. A shape pack hides how many axes stand on its side." },
    { "E3101", "index is not bound",
      "A name inside index notation is neither an output index nor bound by a reduction, "
      "and nothing is summed implicitly.\n\n"
      "    let y[m] = a[m, k] * b[k]            // wrong\n"
      "    let y[m] = sum[k] a[m, k] * b[k]     // right" },
    { "E3102", "reduction index indexes nothing",
      "The index of a reduction does not occur inside any `[...]` of its operand, so it "
      "has no extent to run over." },
    { "E3103", "output index indexes nothing",
      "An index on the left side does not occur inside any `[...]` on the right, so its "
      "axis has no extent." },
    { "E3104", "not valid in index notation",
      "The body of index notation is a scalar expression, and indices stand only inside "
      "`[...]`. The value of an index as a number is `iota(N)[i]`." },
    { "E3105", "index listed twice",
      "One list of indices names the same index more than once. A diagonal is written by "
      "using an index twice in an access, not in the list.\n\n"
      "    let d[i] = x[i, i]" },
    { "E3106", "shape pack index misused",
      "A `*name` covers the axes that the other components of an access leave; there can "
      "be one of them in an access, and only a pack may be indexed with it. Outside "
      "index notation a pack can only be kept whole." },
    { "E4101", "type not allowed for this member",
      "A `param` is a tensor or an optional tensor, a `buffer` and a `state` a tensor, a "
      "`sub` a block, an array of blocks or an optional block." },
    { "E4102", "member has a value in the source",
      "Weights come from a checkpoint, and children from their own declarations. The "
      "only default a `param` or a `sub` can have is `none`, which makes an optional one "
      "absent.\n\n"
      "    param bias: Tensor[N; f32]? = none" },
    { "E5001", "bad `linnet.toml`",
      "The package's manifest is not what it must be: TOML with [package] (name, "
      "version, language = \"0.1\") and [dependencies], each of them { path = "
      "\"relative/directory\" }. Dependencies from git or a registry do not exist in this "
      "version." },
    { "W1001", "unused import",
      "The imported name is not used in this module. Remove it from the `use`, or give "
      "it a name that begins with `_`." },
    { "W1002", "unused local",
      "The local is never read. Remove it, or begin its name with `_` to say that this "
      "is meant." },
    { "W1003", "unused member",
      "No method of the block uses the member. Remove it, or begin its name with `_`." },
};
/* clang-format on */

const lin_code_meaning *lin_code_find(const char *code)
{
    for (uint32_t i = 0; i < ARRAY_LEN(meanings); i++)
        if (strcmp(meanings[i].code, code) == 0)
            return &meanings[i];
    return NULL;
}

uint32_t lin_code_count(void)
{
    return ARRAY_LEN(meanings);
}

const lin_code_meaning *lin_code_at(uint32_t index)
{
    return index < ARRAY_LEN(meanings) ? &meanings[index] : NULL;
}

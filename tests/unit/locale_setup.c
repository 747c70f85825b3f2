/* SPDX-License-Identifier: MIT */

/* Linked into every unit test: takes the locale of the environment, as a host program may, so that
 * the suite can be run with a comma as the decimal point. */

#include <locale.h>

__attribute__((constructor)) static void take_locale(void)
{
    setlocale(LC_ALL, "");
}

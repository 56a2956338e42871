/*
 * html_text.h - texts and numbers on their way into a page.
 *
 * Names come from traced programs and may hold anything. Whatever goes into the page as text goes
 * through here, so that no name can become markup, script, or a control character.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Longer texts are cut: names that a template wrote may have a megabyte, the page shall not. */
#define HTML_TEXT_MAX 1000

/* As element content or inside a quoted attribute. Bytes that are no UTF-8, controls: U+FFFD. */
void html_text(FILE *out, const char *text, size_t len);
void html_str(FILE *out, const char *text);

/* A JSON string with its quotes, fit to stand inside a script element. */
void html_json(FILE *out, const char *text, size_t len);
void html_json_str(FILE *out, const char *text);

#define HUMAN_MAX 40
/* Three significant digits and a unit: "1.23 ms", "4.5 GiB". They return @buf. */
const char *human_time(char buf[HUMAN_MAX], double ns);
const char *human_bytes(char buf[HUMAN_MAX], double bytes);
/* "12,345"; from ten million on "12.3 M". */
const char *human_count(char buf[HUMAN_MAX], double n);
/* "12.3 %", "< 0.1 %" */
const char *human_percent(char buf[HUMAN_MAX], double percent);

/* Escaping and tables of the HTML report. Sorting needs no reading of "32.0 KiB": a cell carries
 * the number. */
#include "viewers/html.h"

#include <string.h>

#include "ir/text.h"
#include "viewers/format.h"

void aot_html_text(aot_sb *out, const char *text)
{
    aot_sb safe = {0};
    aot_text_safe(&safe, text, strlen(text));
    for (const char *p = aot_sb_text(&safe); *p; p++) {
        switch (*p) {
        case '&':
            aot_sb_addz(out, "&amp;");
            break;
        case '<':
            aot_sb_addz(out, "&lt;");
            break;
        case '>':
            aot_sb_addz(out, "&gt;");
            break;
        case '"':
            aot_sb_addz(out, "&quot;");
            break;
        case '\'':
            aot_sb_addz(out, "&#39;");
            break;
        default:
            aot_sb_addc(out, *p);
        }
    }
    aot_sb_free(&safe);
}

void aot_html_table(aot_sb *out, const char *id, const char *caption,
                    const aot_html_column *columns, size_t n, bool filter)
{
    if (filter) {
        aot_sb_addf(out,
                    "<p class=\"filter\"><label>Filter <input type=\"search\" data-filter=\"%s\" "
                    "placeholder=\"any column\" /></label> <output></output></p>\n",
                    id);
    }
    aot_sb_addf(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    aot_html_text(out, caption);
    aot_sb_addf(out, "\"><table id=\"%s\"><thead><tr>", id);
    for (size_t i = 0; i < n; i++) {
        aot_sb_addf(out, "<th scope=\"col\" class=\"%c\"><button type=\"button\" data-sort=\"%c\">",
                    columns[i].kind, columns[i].kind);
        aot_html_text(out, columns[i].title);
        aot_sb_addz(out, "</button></th>");
    }
    aot_sb_addz(out, "</tr></thead>\n<tbody>\n");
}

void aot_html_row(aot_sb *out, const char *key)
{
    aot_sb_addz(out, "<tr");
    if (key) {
        aot_sb_addz(out, " data-node=\"");
        aot_html_text(out, key);
        aot_sb_addc(out, '"');
    }
    aot_sb_addc(out, '>');
}

void aot_html_cell(aot_sb *out, char kind, const char *text)
{
    bool code = kind == 'c' || kind == 'w';
    aot_sb_addf(out, "<td class=\"%c\">%s", kind, code ? "<code>" : "");
    aot_html_text(out, text);
    aot_sb_addz(out, code ? "</code></td>" : "</td>");
}

void aot_html_number(aot_sb *out, char kind, int64_t value)
{
    char shown[64];
    if (kind == 'b') {
        aot_format_bytes(shown, sizeof shown, value);
    } else {
        aot_format_count(shown, sizeof shown, value);
    }
    aot_sb_addf(out, "<td class=\"%c\" data-v=\"%lld\">%s</td>", kind, (long long)value, shown);
}

void aot_html_row_end(aot_sb *out)
{
    aot_sb_addz(out, "</tr>\n");
}

void aot_html_table_end(aot_sb *out)
{
    aot_sb_addz(out, "</tbody></table></div>\n");
}

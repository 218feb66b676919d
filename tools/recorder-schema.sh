#!/bin/sh
# Copies the marked tables of the session's schema into the recorder: recorder-schema.sh SCHEMA RECORDER
# prints RECORDER with its SCHEMA text made anew.
set -eu
awk '/^-- >>> recorder/ { on = 1; next } /^-- <<</ { on = 0 } on && !/^ *--/ && NF' "$1" |
    awk -v recorder="$2" '
        { schema = schema $0 "\n" }
        END {
            while ((getline line < recorder) > 0) {
                if (line == "\"\"\"" && inside) { inside = 0 }
                if (!inside) { print line }
                if (line == "SCHEMA = \"\"\"") { inside = 1; printf "%s", schema }
            }
        }'

#!/bin/sh
# Writes a text file as C: tools/embed.sh NAME FILE > FILE.c gives `const char NAME[] = "...";`.
# Each line of the file becomes one string literal, so no compiler limit on a line is met.
set -eu
name=$1 file=$2
printf '/* Made by tools/embed.sh from %s. */\n' "${file##*/}"
printf 'extern const char %s[];\nconst char %s[] =\n' "$name" "$name"
sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/	/\\t/g' -e 's/?/\\?/g' -e 's/^/    "/' -e 's/$/\\n"/' "$file"
printf '    "";\n'

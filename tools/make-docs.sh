#!/bin/sh
# Writes what docs/ holds of the program's tables: make-docs.sh AOTSCOPE DIR
set -eu
bin=$1 dir=$2
LC_ALL=C
export LC_ALL
mkdir -p "$dir/completion"
make_one()
{
    file=$dir/$1
    shift
    "$bin" "$@" > "$file.tmp"
    mv "$file.tmp" "$file"
}
make_one aotscope.1 help --man
make_one commands.md help --markdown
make_one tables.md ops --markdown
make_one keys.md help keys --markdown
make_one diagnosis.md help diagnosis --markdown
sh "$(dirname "$0")/make-questions.sh" "$bin" > "$dir/questions.md.tmp"
mv "$dir/questions.md.tmp" "$dir/questions.md"
make_one completion/aotscope help --completion bash
make_one completion/_aotscope help --completion zsh
make_one completion/aotscope.fish help --completion fish

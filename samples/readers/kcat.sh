#!/usr/bin/env bash
# Appends each notification of the topic ingest.changes to a file, one CloudEvent a line, each once.
#
#   samples/readers/kcat.sh localhost:9092 changes.jsonl
#
# changes.jsonl.offset holds the next offset, the store's source, the last finished token, the file's size at it, and the
# epoch of the token. A
# restart cuts off the lines behind that size, and goes on at the offset. The worker may send a notification twice: its
# token tells. Set TOPIC for another topic. Needs kcat and jq.
set -euo pipefail
brokers=${1:?the brokers} file=${2:?the file for the changes}
offset=beginning source='' token=0 size=0 epoch=0
[ ! -e "$file.offset" ] || read -r offset source token size epoch <"$file.offset"
touch "$file"
truncate -s "$size" "$file"

# kcat ends with this script: when nobody reads, its next line breaks the pipe.
kcat -C -q -u -J -b "$brokers" -t "${TOPIC:-ingest.changes}" -p 0 -o "$offset" -X isolation.level=read_committed |
  jq --unbuffered -r 'select(.payload != null) | (.payload | fromjson) as $event
    | "\(.offset) \($event.source) \($event.data.token) \($event.data.epoch // 0) \($event.data.part // 1) \($event.data.last != false)", .payload' |
  while read -r at from number era part last && IFS= read -r event; do
    # Tokens of another store mean nothing beside the former one's: a rebuilt store begins anew.
    [ "$from" = "$source" ] || { source=$from token=0 epoch=0; }
    # A server that took over without the last transactions begins an epoch, and uses their numbers again.
    [ "$era" -le "${epoch:=0}" ] || { epoch=$era token=0; }
    [ "$era" -eq "$epoch" ] && [ "$number" -gt "$token" ] || continue
    # A transaction in parts may begin again after a crash of the worker.
    [ "$part" != 1 ] || truncate -s "$size" "$file"
    printf '%s\n' "$event" >>"$file"
    [ "$last" = true ] || continue
    token=$number size=$(stat -c %s "$file")
    printf '%s %s %s %s %s\n' $((at + 1)) "$source" "$token" "$size" "$epoch" >"$file.offset.new"
    mv "$file.offset.new" "$file.offset"
  done

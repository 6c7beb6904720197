#!/usr/bin/env bash
# Appends each change of the worker's HTTP feed to a file, one CloudEvent a line, each once.
#
#   samples/readers/follow.sh http://127.0.0.1:8080 changes.jsonl
#
# changes.jsonl.token holds the last token and the file's size at it. A restart cuts off the lines behind that size, and
# goes on after the token. With INGEST_HTTP_BEARER_TOKEN the requests carry it. Ends with 3 where the worker does not
# serve the token any more; the answer, on standard error, names the way back. Needs curl.
set -euo pipefail
url=${1:?the address of the worker} file=${2:?the file for the changes}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

token='' size=0
[ ! -e "$file.token" ] || read -r token size <"$file.token"
touch "$file"
truncate -s "$size" "$file"

# From standard input, for the list of processes shows arguments.
ask() { curl -sS --max-time 60 -K - -D "$folder/head" -o "$folder/body" -w '%{http_code}' "$1"; }
authorization=${INGEST_HTTP_BEARER_TOKEN:+"header = \"Authorization: Bearer $INGEST_HTTP_BEARER_TOKEN\""}

while true; do
  # An answer waits up to 25 seconds for a change.
  code=$(ask "$url/changes?granularity=transaction&limit=100${token:+&after=$token}" <<<"$authorization") || code=000
  case $code in
    200) ;;
    000 | 503) sleep 1; continue ;;                           # the worker is away, or busy: the token waits
    410) cat "$folder/body" >&2; exit 3 ;;
    *) cat "$folder/body" >&2; exit 1 ;;
  esac
  next=$(sed -n 's/^ingest-token: *\([^[:space:]]*\).*/\1/Ip' "$folder/head")
  [ "$next" != "$token" ] || continue                         # [], for nothing changed
  # The body is a JSON array with an event a line.
  sed -e '1s/^\[//' -e '$s/\]$//' -e 's/,$//' -e '$a\' "$folder/body" >>"$file"
  token=$next
  printf '%s %s\n' "$token" "$(stat -c %s "$file")" >"$file.token.new"
  mv "$file.token.new" "$file.token"
done

#!/bin/sh
# Measures with a benchd service and gates on the verdict; needs sh and curl.
#
#   BENCHD_SERVER=http://bench:8300 BENCHD_TOKEN=... docs/ci/gate.sh job.json
#
# BENCHD_KEY   names this run: the same key with the same job is measured once,
#              however often a broken connection makes curl post it. By default
#              it is made of what GitHub or GitLab call the job and the attempt.
# BENCHD_GATE_WAIT  seconds to wait for the verdict, an hour unless set.
#
# Exit codes, as of `benchd run`: 0 pass, 99 fail, 125 inconclusive or invalid,
# 2 the job is wrong or the service away, 3 refused by target policy, 4 the wait
# expired (the job goes on).
set -eu

stop() {
    code=$1
    shift
    echo "benchd: $*" >&2
    exit "$code"
}

[ $# -eq 1 ] && [ -r "$1" ] || stop 2 "write: gate.sh JOB.json"
job=$1
[ -n "${BENCHD_SERVER:-}" ] || stop 2 "BENCHD_SERVER names no service: set it, such as to http://bench:8300"
server=${BENCHD_SERVER%/}
wait=${BENCHD_GATE_WAIT:-3600}

run="${GITHUB_RUN_ID:-}${CI_JOB_ID:-}"
[ -z "$run" ] || run="$run-${GITHUB_RUN_ATTEMPT:-}-${GITHUB_JOB:-}-$(cksum <"$job" | tr ' ' -)"
key=${BENCHD_KEY:-${run:-$(date +%s)-$$}}

kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
trap 'exit 130' INT TERM

# ask NAME CURL-ARGUMENT...: the answer's status, its body in $kept/NAME. The
# token goes in by stdin, where no list of processes shows it.
ask() {
    name=$1
    shift
    { [ -z "${BENCHD_TOKEN:-}" ] || printf 'header = "Authorization: Bearer %s"\n' "$BENCHD_TOKEN"; } |
        curl --silent --show-error --config - --retry-connrefused --max-time 60 \
            --dump-header "$kept/$name.head" --output "$kept/$name" --write-out '%{http_code}' "$@"
}

# The text of a field, its quotation marks made plain first.
field() {
    sed -n -e "s/\\\\\"/'/g" -e 's/.*"'"$2"'" *: *"\([^"]*\)".*/\1/p' "$kept/$1"
}

status=$(ask posted --retry 3 --request POST --data-binary "@$job" \
    --header 'Content-Type: application/json' --header "Idempotency-Key: $key" "$server/jobs") ||
    stop 2 "$server cannot be reached"
case $status in
    200 | 202) ;;
    403) stop 3 "$(cat "$kept/posted")" ;;
    *) stop 2 "$server answered $status: $(cat "$kept/posted")" ;;
esac
url=$(sed -n 's/^[Ll]ocation: *\([^[:space:]]*\).*/\1/p' "$kept/posted.head" | tail -n 1)
case $url in
    /*) url=$server$url ;;
    http*) ;;
    *) stop 2 "$server did not say where the job is: is it a benchd service?" ;;
esac
echo "job $url"

# Without a verdict the gate answers 503 and says when to ask again, and curl
# does that by itself.
hold=50
[ "$wait" -ge "$hold" ] || hold=$wait
status=$(ask gate --retry 1000000 --retry-max-time "$wait" "$url/gate?wait=$hold") ||
    stop 2 "$server cannot be reached any more; the job goes on"
verdict=$(field gate verdict)
summary=$(field gate summary)
case $status in
    200 | 409) ;;
    503) stop 4 "$url is not finished within $wait s; it goes on" ;;
    *) stop 2 "$server answered $status: $(cat "$kept/gate")" ;;
esac
echo "${summary:-$(cat "$kept/gate")}"
# The verdict decides, not the status: the gate lets an inconclusive one through
# unless the job says otherwise.
case $status-$verdict in
    200-pass) exit 0 ;;
    409-fail) exit 99 ;;
    409-) ;;
    *) exit 125 ;;
esac
# Nothing was measured; the job says why.
ask job --retry 3 "$url" >/dev/null || true
case $(field job error_code) in
    invalid_job | target_unresolved) exit 2 ;;
    target_refused) exit 3 ;;
    *) exit 125 ;;
esac

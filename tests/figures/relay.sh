#!/usr/bin/env bash
# The relay beside HAProxy and nginx, and the goals of its instructions, system calls and allocations.
set -uo pipefail
./dev setup build test gate bench || exit 1
status=0
bench/relay/gate --goals || status=1
bench/relay/run || status=1
exit $status

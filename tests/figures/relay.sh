#!/usr/bin/env bash
# The relay beside HAProxy and nginx, and its gate of instructions, system calls and allocations.
set -uo pipefail
status=0
bench/relay/gate || status=1
bench/relay/run || status=1
exit $status

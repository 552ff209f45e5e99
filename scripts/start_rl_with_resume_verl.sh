#!/usr/bin/env bash
# Train with verl and vLLM, again from the newest checkpoint after a failure.
# The same command on every machine of hosts.conf, with the options of `agentic-rl supervise`. The configurations are in
# ../configs, or in $AGENTIC_RL_CONFIGS.
set -euo pipefail
AGENTIC_RL_CONFIGS=${AGENTIC_RL_CONFIGS:-$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../configs" && pwd)}
export AGENTIC_RL_CONFIGS # the start script that base.conf names as monitor_cmd reads the same files
exec agentic-rl supervise --hosts "$AGENTIC_RL_CONFIGS/hosts.conf" --base "$AGENTIC_RL_CONFIGS/base.conf" "$@"

#!/usr/bin/env bash
# Train with MindSpeed-RL and vLLM: the same command on every machine of hosts.conf.
# Options are those of `agentic-rl launch`. The configurations are in ../configs, or in $AGENTIC_RL_CONFIGS.
for settings in /usr/local/Ascend/ascend-toolkit/set_env.sh /usr/local/Ascend/nnal/atb/set_env.sh; do
  # shellcheck source=/dev/null
  if [[ -r $settings ]]; then source "$settings"; fi
done
set -euo pipefail
configs=${AGENTIC_RL_CONFIGS:-$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../configs" && pwd)}
exec agentic-rl launch --hosts "$configs/hosts.conf" --base "$configs/base.conf" "$@"

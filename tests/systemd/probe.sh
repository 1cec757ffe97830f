# What run.sh's systemd runs: the rest of the page, a workload, and what came of them.
set -euo pipefail
trap 'echo "failed at line $LINENO"; systemctl status watchkeeper-exporter --no-pager; journalctl -n 20 --no-pager' ERR

scrape() { curl -sf --retry 20 --retry-connrefused --retry-delay 1 http://127.0.0.1:29400/metrics; }
shown() { # until it is, for 30 s
  for _ in $(seq 60); do scrape | grep "$1" >/dev/null && echo "served: $1" && return; sleep 0.5; done
  echo "not served: $1" && false
}
property() { systemctl show -P "$1" watchkeeper-exporter; }

systemctl daemon-reload
systemctl enable --now watchkeeper-exporter
shown '^watchkeeper_spool_up 1'
shown '^watchkeeper_state_saved 1'
grep -E '^(Uid|CapEff|NoNewPrivs|Seccomp):' "/proc/$(property MainPID)/status"

useradd -M worker
usermod -aG watchkeeper worker
cat >/opt/work.py <<'END'
import time
from watchkeeper_fleet import agent
agent.start()
agent.ready()
time.sleep(300)
END
setpriv --reuid worker --regid worker --init-groups /opt/watchkeeper/bin/python /opt/work.py &
shown '^torch_process_ready{workload="work",process="0",rank="0"} 1'
systemctl reload watchkeeper-exporter
kill -KILL $!
shown '^torch_process_last_exit_timestamp_seconds{workload="work"'
shown '^torch_process_lost_total{workload="work"} 1'
/opt/watchkeeper/bin/watchkeeper spool last | sed -n 1p

systemctl restart watchkeeper-exporter
shown '^torch_process_lost_total{workload="work"} 1' # kept
sleep 35 # longer than WatchdogSec
[ "$(property ActiveState) $(property NRestarts)" = "active 0" ]
systemctl stop watchkeeper-exporter
[ "$(property Result) $(property ExecMainStatus)" = "success 0" ]
systemctl --version | sed -n 1p
echo all well

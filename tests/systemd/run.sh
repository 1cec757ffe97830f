#!/usr/bin/env bash
# docs/exporter-running.md's part on systemd, followed line by line on a copy of this machine's root, and the unit run by a
# real systemd in namespaces of its own. Wants root, systemd, overlayfs, and the network for pip; a minute; changes nothing.
#   tests/systemd/run.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

if [ -z "${WORK:-}" ]; then
  WORK=$(mktemp -d)
  export WORK
  groups=()
  while read -r place; do
    [ "${place##*/}" = cpuset ] && continue # wants processors first
    mkdir "$place/watchkeeper-test" && groups+=("$place/watchkeeper-test")
  done < <(findmnt -rn -t cgroup,cgroup2 -o TARGET)
  touch "$WORK/told"
  (
    for group in "${groups[@]}"; do echo "$BASHPID" >"$group/cgroup.procs"; done
    exec unshare --mount --pid --uts --ipc --cgroup --fork --kill-child "$here/run.sh"
  ) >"$WORK/console" 2>&1 &
  inside=$!
  for _ in $(seq 240); do
    if ! kill -0 $inside 2>/dev/null || grep -qE '^(all well|failed)' "$WORK/told"; then break; fi
    sleep 1
  done
  sleep 1
  kill -KILL $inside 2>/dev/null || true # and all in it
  wait $inside 2>/dev/null || true
  for group in "${groups[@]}"; do
    for _ in $(seq 50); do
      find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null
      if [ -d "$group" ]; then sleep 0.1; else break; fi
    done
  done
  cat "$WORK/told"
  code=0
  grep -qx 'all well' "$WORK/told" || { tail -n 40 "$WORK/console" && code=1; }
  rm -r "$WORK"
  exit "$code"
fi

mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/more /mnt/root
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/more /mnt/root
copy=/mnt/root
mount --bind "$WORK" "$copy$WORK"
mount -t proc proc "$copy/proc"
mount --bind "$copy/proc/sys" "$copy/proc/sys" && mount -o remount,bind,ro "$copy/proc/sys"
mount -t sysfs -o ro sysfs "$copy/sys"
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup2 "$copy/sys/fs/cgroup"
else
  mount -t tmpfs -o mode=755 tmpfs "$copy/sys/fs/cgroup"
  mkdir "$copy"/sys/fs/cgroup/{systemd,unified,memory,pids,devices}
  mount -t cgroup -o none,name=systemd cgroup "$copy/sys/fs/cgroup/systemd"
  mount -t cgroup2 cgroup2 "$copy/sys/fs/cgroup/unified"
  for one in memory pids devices; do mount -t cgroup -o "$one" cgroup "$copy/sys/fs/cgroup/$one"; done
fi
mount -t tmpfs -o mode=755 tmpfs "$copy/dev"
for one in null zero full random urandom tty; do touch "$copy/dev/$one" && mount --bind "/dev/$one" "$copy/dev/$one"; done
ln -s /proc/self/fd "$copy/dev/fd"
mkdir "$copy/dev/shm"
mount -t tmpfs -o mode=755 tmpfs "$copy/run"
# Nothing of the machine itself is started.
rm -rf "$copy"/{lib,etc}/systemd/system/{sysinit,multi-user,basic}.target.wants
echo 0123456789abcdef0123456789abcdef >"$copy/etc/machine-id"

# The page's lines, but for those that want systemd running.
sed -n '/^## systemd/,/^## /s/^    //p' "$root/docs/exporter-running.md" | grep -Ev '^(systemctl|usermod|journalctl)' >"$WORK/lines"
chroot "$copy" bash -exc "cd '$root' && export PATH=/usr/sbin:/usr/bin && . '$WORK/lines'"
cp "$here/probe.sh" "$copy/opt/probe.sh"
cat >"$copy/etc/systemd/system/probe.service" <<END
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
Environment=WORK=$WORK
ExecStart=/bin/bash /opt/probe.sh
StandardOutput=append:$WORK/told
StandardError=append:$WORK/told
END
export container=test
exec chroot "$copy" /lib/systemd/systemd --system --unit=probe.service --log-target=console --show-status=0

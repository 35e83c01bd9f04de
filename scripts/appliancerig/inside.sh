#!/bin/bash
# What the rig of packages does on the machine that it booted: an operator's week. Arguments: the two versions.
set -euo pipefail
one=$1 two=$2
cd /packages

say() { printf '   %s\n' "$*"; }
fail() { echo "FAILED: $*" >&2; exit 1; }

# holds COMMAND... waits until it succeeds.
holds() {
	for _ in $(seq 200); do
		if "$@" >/dev/null 2>&1; then return 0; fi
		sleep 0.1
	done
	"$@" || fail "not within 20 s: $*"
}
# millis prints the time, in milliseconds.
millis() { date +%s%3N; }
token() { cat /var/lib/wardroom/admin.key; }

say "install: nothing starts"
dpkg -i one/wardroom_*.deb >/tmp/install.log 2>&1 || { cat /tmp/install.log; fail "dpkg -i"; }
! systemctl is-active --quiet wardroom || fail "it was started"
! systemctl is-enabled --quiet wardroom || fail "it was enabled"
[ "$(stat -c '%U:%G %a' /etc/wardroom)" = "root:wardroom 750" ] || fail "mode of /etc/wardroom: $(stat -c '%U:%G %a' /etc/wardroom)"
[ "$(stat -c '%U:%G %a' /etc/wardroom/wardroom.yaml)" = "root:wardroom 640" ] || fail "mode of the configuration"
[ "$(stat -c '%U:%G %a' /var/lib/wardroom)" = "wardroom:wardroom 700" ] || fail "mode of the data"
systemd-analyze verify --man=no wardroom.service wardroom-backup.service wardroom-backup.timer
systemd-analyze security --no-pager --threshold=25 wardroom.service | tail -n 1

say "setup"
wardroom setup --yes >/dev/null
[ "$(stat -c '%U:%G %a' /etc/wardroom/conf.d/10-setup.yaml)" = "root:wardroom 640" ] || fail "mode of what setup wrote"

say "start"
from=$(millis)
systemctl enable --now wardroom 2>/dev/null
say "ready after $(($(millis) - from)) ms"
wardroom doctor || fail "doctor"
[ "$(stat -c '%U:%G %a' /var/lib/wardroom/admin.key)" = "wardroom:wardroom 600" ] || fail "mode of admin.key"
wardroom status

systemctl stop wardroom
say "with the local runtime"
dpkg -i one/wardroom-runtime-local_*.deb >/dev/null
systemctl start wardroom
systemd-analyze security --no-pager wardroom.service | tail -n 1
holds sh -c 'wardroom runtime list -o json | grep -q "\"ready\": true\|\"status\": \"ready\""'

say "a run is answered"
WARDROOM_TOKEN=$(token) ./agent http://127.0.0.1:8080 &
agent=$!
cat >/tmp/measure.yaml <<'YAML'
name: measure
version: 1.0.0
agents: {capabilities: [measure]}
YAML
wardroom pattern put /tmp/measure.yaml
holds sh -c 'wardroom agent list -o json | grep -q measurer'
wardroom run measure --input '{"text":"four"}' -o json | grep -q '"length": 4' || fail "no answer"

say "an agent of the machine works"
cat >/etc/wardroom/conf.d/50-rig.yaml <<'YAML'
agentTypes:
  bash:
    command: bash
    args: [--norc, --noprofile]
    env: {PS1: 'bash$ ', HISTFILE: /dev/null}
    ready: {pattern: '^bash\$ $', timeout: 30s}
    exit: exit
YAML
chgrp wardroom /etc/wardroom/conf.d/50-rig.yaml
systemctl restart wardroom
id=$(wardroom agent spawn bash --wait -o name | head -n 1)
wardroom agent send "$id" 'echo $((6 * 7))' --wait | grep -q 42 || fail "the agent does not answer"
pid=$(wardroom agent get "$id" -o jsonpath=.pid)
[ -d "/proc/$pid" ] || fail "the agent has no process"

say "reload"
systemctl reload wardroom
echo 'nosuch: 1' >/etc/wardroom/conf.d/60-bad.yaml
chgrp wardroom /etc/wardroom/conf.d/60-bad.yaml
if systemctl reload wardroom 2>/tmp/reload.err; then fail "a broken configuration was reloaded"; fi
systemctl is-active --quiet wardroom || fail "a broken reload ended the service"
holds sh -c 'journalctl -u wardroom -o cat --no-pager | grep -q nosuch' # it says why
rm /etc/wardroom/conf.d/60-bad.yaml
systemctl reload wardroom
[ "$(wardroom log-level debug | cut -d' ' -f1)" = debug ] || fail "log-level"
wardroom reload >/dev/null
[ "$(wardroom log-level | cut -d' ' -f1)" = info ] || fail "the reload did not bring the level back"

say "the watchdog restarts what hangs"
main=$(systemctl show --property MainPID --value wardroom)
mkdir -p /run/systemd/system/wardroom.service.d
printf '[Service]\nWatchdogSec=2s\n' >/run/systemd/system/wardroom.service.d/90-rig.conf
systemctl daemon-reload
systemctl restart wardroom
main=$(systemctl show --property MainPID --value wardroom)
kill -STOP "$main"
holds sh -c "[ \"\$(systemctl show --property MainPID --value wardroom)\" != $main ] && systemctl is-active --quiet wardroom"
rm /run/systemd/system/wardroom.service.d/90-rig.conf
systemctl daemon-reload
systemctl restart wardroom
[ -d "/proc/$pid" ] || fail "the agent did not outlive the restarts"

say "others are kept from the admin socket"
useradd --system stranger
[ "$(stat -c %a /run/wardroom)" = 700 ] || fail "mode of /run/wardroom"
if setpriv --reuid stranger --clear-groups wardroom reload 2>/dev/null; then fail "a stranger may reload"; fi

say "a bundle for those who help"
wardroom debug bundle /tmp/bundle.tar.gz --duration 0s >/dev/null
tar -xzf /tmp/bundle.tar.gz -C /tmp
for part in status.json config.yaml journal.txt goroutines.txt heap.pprof; do
	[ -s "/tmp/wardroom-debug/$part" ] || fail "the bundle has no $part"
done
if grep -rqF "$(token)" /tmp/wardroom-debug; then fail "the bundle holds the first key"; fi

say "backup"
systemctl start wardroom-backup.service
file=$(ls /var/backups/wardroom/*.backup)
wardroom backup verify "$file" >/dev/null
wardroom backup create /var/backups/wardroom/whole.backup --secrets >/dev/null
head -c 2000 "$file" >/tmp/cut.backup
if wardroom backup verify /tmp/cut.backup 2>/dev/null; then fail "a cut backup is whole"; fi

say "an upgrade that does not accept the configuration leaves the old one running"
main=$(systemctl show --property MainPID --value wardroom)
echo 'nosuch: 1' >/etc/wardroom/conf.d/60-bad.yaml
dpkg -i two/wardroom_*.deb two/wardroom-runtime-local_*.deb >/tmp/upgrade.log 2>&1 || { cat /tmp/upgrade.log; fail "upgrade"; }
grep -q nosuch /tmp/upgrade.log || fail "the upgrade does not say why it did not restart"
[ "$(systemctl show --property MainPID --value wardroom)" = "$main" ] || fail "it was restarted"
rm /etc/wardroom/conf.d/60-bad.yaml
dpkg -i one/wardroom_*.deb one/wardroom-runtime-local_*.deb >/dev/null 2>&1 || fail "downgrade"

say "upgrade while an agent works"
wardroom agent send "$id" 'sleep 4; echo survived' >/dev/null
echo '# kept' >>/etc/default/wardroom
dpkg -i two/wardroom_*.deb two/wardroom-runtime-local_*.deb >/tmp/upgrade.log 2>&1 || { cat /tmp/upgrade.log; fail "upgrade"; }
grep -q '^# kept' /etc/default/wardroom || fail "a configuration file was replaced"
holds sh -c "wardroom version | grep -q 'server.*$two'"
[ "$(wardroom agent get "$id" -o jsonpath=.pid)" = "$pid" ] || fail "the agent is another process"
holds sh -c "wardroom agent logs $id | grep -q '^survived\|survived\$'"
holds sh -c 'wardroom agent list -o json | grep -q measurer'
wardroom run measure --input '{"text":"again"}' -o json | grep -q '"length": 5' || fail "no answer after the upgrade"

say "restore"
systemctl stop wardroom
mv /var/lib/wardroom /var/lib/wardroom.old
systemd-tmpfiles --create /usr/lib/tmpfiles.d/wardroom.conf
wardroom backup restore /var/backups/wardroom/whole.backup --data-dir /var/lib/wardroom >/dev/null
[ "$(stat -c '%U:%G %a' /var/lib/wardroom)" = "wardroom:wardroom 700" ] || fail "owner of the restored store"
! find /var/lib/wardroom ! -user wardroom | grep -q . || fail "a file of the restored store is not the service's"
systemctl start wardroom
wardroom execution list -o json | grep -q measure || fail "the execution is not there"
WARDROOM_TOKEN=$(cat /var/lib/wardroom.old/admin.key) wardroom execution list -o json | grep -q measure || fail "the key is not valid any more"

say "remove: configuration and data stay"
kill "$agent" 2>/dev/null || true
dpkg -r wardroom-runtime-local wardroom >/dev/null 2>&1 || fail "remove"
[ -e /var/lib/wardroom/MANIFEST ] && [ -e /etc/wardroom/wardroom.yaml ] || fail "a remove took data or configuration"
holds sh -c '! pgrep -u wardroom'
[ ! -e /usr/bin/wardroom ] || fail "the program is still there"

say "purge: nothing stays but the user"
dpkg -P wardroom-runtime-local wardroom >/dev/null 2>&1 || fail "purge"
for left in /etc/wardroom /var/lib/wardroom /var/backups/wardroom /run/wardroom /etc/default/wardroom /usr/lib/wardroom; do
	[ ! -e "$left" ] || fail "$left is left: $(ls -lR "$left" | head)"
done
getent passwd wardroom >/dev/null || fail "the user is gone"

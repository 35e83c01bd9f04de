#!/bin/bash
# What the rig of packages does on the machine that it booted: an operator's week. Arguments: the two versions.
set -euo pipefail
one=$1 two=$2
installed_limit=$((71 * 1024)) # KiB, of the core package
cd /packages

say() { printf '   %s\n' "$*"; }
fail() { echo "FAILED: $*" >&2; exit 1; }

# holds COMMAND... waits until it succeeds; on a machine with other things to do that may take its time.
holds() {
	local until=$((SECONDS + 180))
	while [ "$SECONDS" -lt "$until" ]; do
		if "$@" >/dev/null 2>&1; then return 0; fi
		sleep 0.1
	done
	"$@" || fail "not within 180 s: $*"
}
# refuses MESSAGE COMMAND... holds that it fails, and that it says why.
refuses() {
	local message=$1
	shift
	if "$@" >/tmp/refused 2>&1; then fail "it should have been refused: $*"; fi
	grep -q "$message" /tmp/refused || { cat /tmp/refused; fail "it does not say \"$message\": $*"; }
}
main_pid() { systemctl show --property MainPID --value wardroom; }
# A unit may be started so and so often in ten minutes, which is more seldom than here.
again() { systemctl reset-failed wardroom 2>/dev/null || true; }
# millis prints the time, in milliseconds.
millis() { date +%s%3N; }
token() { cat /var/lib/wardroom/admin.key; }
# model METHOD PATH asks the model that answers the coding tool.
model() {
	exec 3<>/dev/tcp/127.0.0.1/18090
	printf '%s /_fake/%s HTTP/1.0\r\n\r\n' "$1" "$2" >&3
	cat <&3
	exec 3>&-
}
held() { model GET 'held?name=upgrade' | grep '"held":true' >/dev/null; }

say "install from the bundle, without a network: nothing starts"
[ "$(wc -l </proc/net/route)" = 1 ] || fail "this machine has a route: $(cat /proc/net/route)"
tar -xf one/wardroom-*-offline.tar
cd wardroom-*-offline
echo x >>README.md
refuses 'damaged or was changed, copy it anew: README.md' sh install.sh none
sed -i '$d' README.md
touch packages/wardroom_9_amd64.deb
refuses 'packages/wardroom_9_amd64.deb is not of this bundle' sh install.sh none
rm packages/wardroom_9_amd64.deb
refuses 'no package wardroom-nosuch' sh install.sh nosuch
refuses 'not signed' sh install.sh --key /packages/key.pub
sh install.sh none >/tmp/install.log 2>&1 || { cat /tmp/install.log; fail "install.sh"; }
cd /packages
! systemctl is-active --quiet wardroom || fail "it was started"
installed=$(dpkg-query -W -f '${Installed-Size}' wardroom)
say "$((installed / 1024)) MiB installed, $((installed_limit / 1024)) at most"
[ "$installed" -le "$installed_limit" ] || fail "the package takes $installed KiB installed"
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
sh wardroom-*-offline/install.sh runtime-local >/tmp/install.log 2>&1 || { cat /tmp/install.log; fail "install.sh runtime-local"; }
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
cp /etc/wardroom/conf.d/50-rig.yaml /tmp/rig-agents.yaml
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
mkdir -p /run/systemd/system/wardroom.service.d
printf '[Service]\nWatchdogSec=4s\n' >/run/systemd/system/wardroom.service.d/90-rig.conf
systemctl daemon-reload
systemctl restart wardroom
main=$(main_pid)
[ "$main" -gt 1 ] || fail "the service has no process"
kill -STOP "$main"
holds sh -c "[ ! -d /proc/$main ] && systemctl is-active --quiet wardroom"
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

say "backup, by the timer, of which two are kept"
echo 'BACKUP_KEEP=2' >>/etc/default/wardroom
systemctl enable --now wardroom-backup.timer 2>/dev/null
systemctl is-active --quiet wardroom-backup.timer || fail "the timer does not run"
for _ in 1 2 3; do
	systemctl start wardroom-backup.service
	sleep 1 # names are seconds
done
[ "$(ls /var/backups/wardroom/wardroom-*.backup | wc -l)" = 2 ] || fail "not two backups are kept: $(ls /var/backups/wardroom)"
file=$(ls /var/backups/wardroom/wardroom-*.backup | tail -n 1)
wardroom backup verify "$file" >/dev/null
wardroom backup create /var/backups/wardroom/whole.backup --secrets >/dev/null

say "a drill: archives that are cut, damaged, foreign or of a later version make no store"
drill() { # NAME MESSAGE: neither proved nor restored
	refuses "$2" wardroom backup verify "/tmp/drill/$1"
	refuses "$2" wardroom backup restore "/tmp/drill/$1" --data-dir "/tmp/drill/restored"
	[ ! -e /tmp/drill/restored ] || fail "$1 made a store"
	! ls -d /tmp/drill/restored* 2>/dev/null || fail "$1 left something"
}
mkdir -p /tmp/drill/parts
size=$(stat -c %s "$file")
for cut in 0 1 100 $((size / 2)) $((size - 1)); do
	head -c "$cut" "$file" >/tmp/drill/cut
	drill cut 'not a whole backup'
done
for at in 50 $((size / 2)) $((size - 20)); do
	cp "$file" /tmp/drill/damaged
	byte=$(od -An -tu1 -j "$at" -N 1 "$file")
	printf "\\x$(printf %x $((byte ^ 255)))" | dd of=/tmp/drill/damaged bs=1 seek="$at" conv=notrunc status=none
	drill damaged 'not a whole backup'
done
/packages/s2d -q -c - <"$file" | tar -C /tmp/drill/parts -xf -
# In zstd, as archives of format 1 are: what they are compressed with is seen by their first bytes.
repack() { (cd /tmp/drill/parts && find . -type f -printf '%P\n' | order | tar -cf - -T - | zstd -qc >"/tmp/drill/$1"); }
order() { # as an archive has it: what it is first, the checksums last
	awk '/^meta.json$/ {print "0 " $0; next} /^SHA256SUMS$/ {print "3 " $0; next} /^store\// {print "2 " $0; next} {print "1 " $0}' | LC_ALL=C sort | cut -d' ' -f2-
}
sed -i 's/"format": 2/"format": 99/' /tmp/drill/parts/meta.json
repack later
drill later 'format 99'
sed -i 's/"format": 99/"format": 2/; s/"product": "wardroom"/"product": "harbour"/' /tmp/drill/parts/meta.json
repack foreign
drill foreign 'no backup of Wardroom'
sed -i 's/"product": "harbour"/"product": "wardroom"/; s/"version": "/"version": "9./' /tmp/drill/parts/meta.json
repack forged
drill forged 'checksums'
tar -C /etc -cf - hostname | zstd -qc >/tmp/drill/other
drill other 'not a whole backup'
cp /usr/bin/git /tmp/drill/program
drill program 'not a whole backup'
mkdir /tmp/drill/full
touch /tmp/drill/full/file
refuses 'not empty' wardroom backup restore "$file" --data-dir /tmp/drill/full
wardroom backup restore "$file" --data-dir /tmp/drill/restored --files /tmp/drill/files >/dev/null
[ -e /tmp/drill/restored/MANIFEST ] && [ -s /tmp/drill/files/config/effective.yaml ] || fail "the good one was not restored"
rm -rf /tmp/drill

say "an upgrade that does not accept the configuration leaves the old one running"
main=$(main_pid)
echo 'nosuch: 1' >/etc/wardroom/conf.d/60-bad.yaml
dpkg -i two/wardroom_*.deb two/wardroom-runtime-local_*.deb >/tmp/upgrade.log 2>&1 || { cat /tmp/upgrade.log; fail "upgrade"; }
grep -q nosuch /tmp/upgrade.log || fail "the upgrade does not say why it did not restart"
[ "$(main_pid)" = "$main" ] || fail "it was restarted"
rm /etc/wardroom/conf.d/60-bad.yaml
again
dpkg -i one/wardroom_*.deb one/wardroom-runtime-local_*.deb >/dev/null 2>&1 || fail "downgrade"

if [ -x /usr/local/bin/claude ]; then
	say "a coding tool is in the middle of a turn"
	./fakemodel -listen 127.0.0.1:18090 >/tmp/fakemodel.log 2>&1 &
	fakemodel=$!
	holds model GET health
	again
	thread=$(wardroom thread spawn --type claude --role upgraded --objective 'begin' -o name \
		--env ANTHROPIC_BASE_URL=http://127.0.0.1:18090 --env ANTHROPIC_API_KEY=sk-ant-no-key-is-checked-here | head -n 1)
	wardroom thread send "$thread" 'first' --wait --timeout 5m >/tmp/first
	grep -q 'ANSWER\[first\]' /tmp/first || { cat /tmp/first; fail "the coding tool does not answer"; }
	wardroom thread send "$thread" 'second HOLD[upgrade]' --wait --timeout 10m >/tmp/second 2>&1 &
	waiting=$!
	holds held
	tool=$(pgrep -u wardroom -x claude) || fail "the coding tool has no process"
fi

say "upgrade while an agent works"
wardroom agent send "$id" 'sleep 8; echo survived' >/dev/null
echo '# kept' >>/etc/default/wardroom
again
tar -C /tmp -xf two/wardroom-*-offline.tar
signed=$(echo /tmp/wardroom-*-offline)
cp "$signed/SHA256SUMS" /tmp/sums
sed -i 's/^./0/' "$signed/SHA256SUMS"
refuses 'changed after it was signed' sh "$signed/install.sh" --key key.pub
cp /tmp/sums "$signed/SHA256SUMS"
sh "$signed/install.sh" --key key.pub >/tmp/upgrade.log 2>&1 || { cat /tmp/upgrade.log; fail "upgrade"; }
grep -q 'install.sh --images' /tmp/upgrade.log || fail "nothing is said of the images"
refuses 'not signed, and /etc/wardroom/bundle-key.asc asks' sh wardroom-*-offline/install.sh
grep -q '^# kept' /etc/default/wardroom || fail "a configuration file was replaced"
[ ! -e /etc/wardroom/conf.d/0-as-before.yaml ] || fail "an upgrade of a version with roles turned them off"
holds sh -c "wardroom version | grep -q 'server.*$two'"
if [ -x /usr/local/bin/claude ]; then
	held || fail "the turn of the coding tool ended with the upgrade"
	[ "$(pgrep -u wardroom -x claude)" = "$tool" ] || fail "the coding tool is another process"
	model POST 'release?name=upgrade' >/dev/null
	wait "$waiting" || { cat /tmp/second; fail "the turn did not end well"; }
	[ "$(grep -c 'ANSWER\[second' /tmp/second)" = 1 ] || { cat /tmp/second; fail "the answer is not there once"; }
	wardroom thread events "$thread" -o json >/tmp/events
	[ "$(grep -o 'ANSWER\[second' /tmp/events | wc -l)" = 1 ] || { cat /tmp/events; fail "the thread does not have the answer once"; }
	wardroom thread stop "$thread" >/dev/null
	kill "$fakemodel"
	say "the turn of the coding tool went on through it: its answer is there once"
fi
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
again
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
for left in /etc/wardroom /var/lib/wardroom /var/log/wardroom /var/backups/wardroom /run/wardroom /etc/default/wardroom /usr/lib/wardroom; do
	[ ! -e "$left" ] || fail "$left is left: $(ls -lR "$left" | head)"
done
getent passwd wardroom >/dev/null || fail "the user is gone"

say "an upgrade of a version that had roles off takes nothing from keys"
dpkg-deb -R one/wardroom_*.deb /tmp/former
cp packaged-open.yaml /tmp/former/etc/wardroom/wardroom.yaml
dpkg-deb -Zgzip -z1 -b /tmp/former /tmp/former.deb >/dev/null
dpkg -i /tmp/former.deb >/tmp/former.log 2>&1 || { cat /tmp/former.log; fail "the former version"; }
again
systemctl start wardroom
holds sh -c 'wardroom version | grep -q server'
key=$(wardroom auth create-key --name former --scopes patterns:write,execute -o jsonpath=.key)
WARDROOM_TOKEN=$key wardroom pattern put /tmp/measure.yaml
again
dpkg -i two/wardroom_*.deb >/tmp/upgrade.log 2>&1 || { cat /tmp/upgrade.log; fail "upgrade"; }
grep -q 'stay off here' /tmp/upgrade.log || { cat /tmp/upgrade.log; fail "the upgrade does not say what it kept"; }
[ "$(stat -c '%U:%G %a' /etc/wardroom/conf.d/0-as-before.yaml)" = "root:wardroom 640" ] || fail "mode of what the upgrade wrote"
grep -q 'rateLimit:' /etc/wardroom/wardroom.yaml || fail "the configuration is not that of the new version"
holds sh -c "wardroom version | grep -q 'server.*$two'"
WARDROOM_TOKEN=$key wardroom pattern put /tmp/measure.yaml || fail "a key lost a right"
rm /etc/wardroom/conf.d/0-as-before.yaml
systemctl reload wardroom
refuses 'role' env WARDROOM_TOKEN="$key" wardroom pattern put /tmp/measure.yaml
dpkg -P wardroom >/dev/null 2>&1 || fail "purge"

say "as a stranger: from the bundle to a first answer, by the commands of the operator guide"
rm -rf /tmp/first && mkdir /tmp/first
tar -C /tmp/first -xf one/wardroom-*-offline.tar
from=$(millis)
sh /tmp/first/wardroom-*-offline/install.sh >/tmp/install.log 2>&1 || { cat /tmp/install.log; fail "install.sh"; }
again
wardroom setup --yes >/dev/null
systemctl enable --now wardroom 2>/dev/null
wardroom doctor >/tmp/doctor.log || { cat /tmp/doctor.log; fail "doctor"; }
if [ -x /usr/local/bin/claude ]; then
	./fakemodel -listen 127.0.0.1:18090 >/tmp/fakemodel.log 2>&1 &
	fakemodel=$!
	wardroom agent spawn claude --name ada --env ANTHROPIC_API_KEY=sk-ant-no-key-is-checked-here --env ANTHROPIC_BASE_URL=http://127.0.0.1:18090 --wait >/dev/null
	wardroom agent send ada 'the first question' --wait >/tmp/answer
	grep -q 'ANSWER\[the first question\]' /tmp/answer || { cat /tmp/answer; fail "no first answer"; }
	say "$((($(millis) - from) / 1000)) s from the installation to the first answer of a coding tool"
	kill "$fakemodel"
fi
dpkg -P wardroom-runtime-local wardroom >/dev/null 2>&1 || fail "purge"

say "the rpm, installed: nothing starts"
refused_log() { cat "$1"; fail "$2"; }
# Debian's rpm installs packages only when it is told to.
rpms() { rpm --force-debian --nodeps "$@" >/tmp/rpm.log 2>&1 || refused_log /tmp/rpm.log "rpm $*"; ! grep -q 'scriptlet failed' /tmp/rpm.log || refused_log /tmp/rpm.log "a scriptlet of rpm $*"; }
former=$(echo one/wardroom-"$one"-1.*.rpm one/wardroom-runtime-local-*.rpm) later=$(echo two/wardroom-"$two"-1.*.rpm two/wardroom-runtime-local-*.rpm)
rpm --initdb
# shellcheck disable=SC2086 # lists of files
rpms -i $former
! systemctl is-active --quiet wardroom || fail "the rpm started the service"
! systemctl is-enabled --quiet wardroom || fail "the rpm enabled the service"
[ "$(stat -c '%U:%G %a' /etc/wardroom/wardroom.yaml)" = "root:wardroom 640" ] || fail "mode of the configuration"
[ "$(stat -c '%U:%G %a' /var/lib/wardroom)" = "wardroom:wardroom 700" ] || fail "mode of the data"
wardroom setup --yes --admin-key /root/first.key >/dev/null
echo '# kept' >>/etc/wardroom/wardroom.yaml
echo '# kept' >>/etc/default/wardroom
kept() {
	for file in /etc/wardroom/wardroom.yaml /etc/default/wardroom; do grep -q '^# kept' "$file" || fail "$file was replaced"; done
}

say "the rpm, upgraded: a service that does not run is left alone"
# shellcheck disable=SC2086
rpms -U $later
! systemctl is-active --quiet wardroom || fail "an upgrade started the service"
kept
# shellcheck disable=SC2086
rpms -U --oldpackage $former

say "the rpm, upgraded while an agent works"
cp /tmp/rig-agents.yaml /etc/wardroom/conf.d/50-rig.yaml
chgrp wardroom /etc/wardroom/conf.d/50-rig.yaml
again
systemctl enable --now wardroom 2>/dev/null
id=$(wardroom agent spawn bash --wait -o name | head -n 1)
pid=$(wardroom agent get "$id" -o jsonpath=.pid)
main=$(main_pid)
echo 'nosuch: 1' >/etc/wardroom/conf.d/60-bad.yaml
chgrp wardroom /etc/wardroom/conf.d/60-bad.yaml
# shellcheck disable=SC2086
rpms -U $later
grep -q nosuch /tmp/rpm.log || fail "the upgrade does not say why it did not restart"
[ "$(main_pid)" = "$main" ] || fail "it was restarted with a configuration that is not valid"
rm /etc/wardroom/conf.d/60-bad.yaml
sed -i 's/^RESTART_ON_UPGRADE=.*/RESTART_ON_UPGRADE=false/' /etc/default/wardroom
# shellcheck disable=SC2086
rpms -U --oldpackage $former
[ "$(main_pid)" = "$main" ] || fail "it was restarted against RESTART_ON_UPGRADE"
sed -i 's/^RESTART_ON_UPGRADE=.*/RESTART_ON_UPGRADE=true/' /etc/default/wardroom
# shellcheck disable=SC2086
rpms -U $later
holds sh -c "wardroom version | grep -q 'server.*$two'"
[ "$(main_pid)" != "$main" ] || fail "it was not restarted"
[ "$(wardroom agent get "$id" -o jsonpath=.pid)" = "$pid" ] || fail "the agent is another process"
wardroom auth whoami --server http://127.0.0.1:8080 --token-file /root/first.key >/dev/null || fail "the key of setup is not valid"
kept

say "the rpm, removed: data and what was changed stay"
rpms -e wardroom-runtime-local wardroom
holds sh -c '! pgrep -u wardroom'
[ ! -e /usr/bin/wardroom ] || fail "the program is still there"
[ -e /var/lib/wardroom/MANIFEST ] || fail "a remove took data"
grep -q '^# kept' /etc/wardroom/wardroom.yaml.rpmsave || fail "a remove took the configuration"
[ -e /etc/wardroom/conf.d/10-setup.yaml ] || fail "a remove took what setup wrote"
systemctl is-enabled --quiet wardroom 2>/dev/null && fail "it is still enabled"
true

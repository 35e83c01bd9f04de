#!/usr/bin/env bash
# A real cluster of one node for tests: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, containerd, kubelet and
# kube-proxy, without DNS. Everything is in one directory, and listens on loopback and the bridge wardroom0 only. One cluster a
# machine: names of the bridge, of chains of iptables and of control groups are fixed.
#
#   scripts/cluster/up.sh DIR     starts it; DIR/admin.conf is its kubeconfig when this returns
#
# Needs root, the binary that build.sh makes (KUBE names another one), and of Debian: containerd, runc, etcd-server,
# containernetworking-plugins, busybox-static, iptables, iproute2, openssl, curl.
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 1 ] || { echo "usage: up.sh DIR" >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "up.sh: root is needed" >&2; exit 1; }
mkdir -p "$1"; KR=$(readlink -f "$1"); KUBE=$(readlink -f "${KUBE:-$HERE/../../.cache/cluster/kube}" || true)
[ -x "$KUBE" ] || { echo "up.sh: there is no $KUBE: run scripts/cluster/build.sh" >&2; exit 1; }
for tool in containerd runc etcd iptables ip openssl curl busybox; do
  command -v "$tool" >/dev/null || { echo "up.sh: $tool is missing" >&2; exit 1; }
done
[ -x /usr/lib/cni/bridge ] || { echo "up.sh: install containernetworking-plugins" >&2; exit 1; }
NODE=${NODE:-wardroom-node}; IP=10.244.0.1; API=${API:-16443}; ETCD=${ETCD:-23790}; KLET=${KLET:-20250}
mkdir -p "$KR"/{pki,etcd,log,pid,cni,kubelet,containerd,img}; cd "$KR"
start() { n=$1; shift; setsid "$@" >"log/$n" 2>&1 </dev/null & echo $! >"pid/$n"; }
dead() { for f in pid/*; do kill -0 "$(cat "$f")" 2>/dev/null || { echo "died: ${f#pid/}" >&2; tail -3 "log/${f#pid/}" >&2; return 0; }; done; return 1; }
waitfor() { # tries (4 a second) command...: fails at once when a process we started has died
  for _ in $(seq 1 "$1"); do if "${@:2}" >/dev/null 2>&1; then return 0; fi; if dead; then return 1; fi; sleep 0.25; done
  echo "timeout: ${*:2}" >&2; return 1
}

# --- certificates (ECDSA, openssl) ------------------------------------------
cd pki
if [ ! -e ca.crt ]; then
  key() { openssl ecparam -genkey -name prime256v1 -noout -out "$1.key" 2>/dev/null; }
  key ca; openssl req -x509 -new -key ca.key -days 3650 -subj /CN=wardroom-test-ca -out ca.crt \
    -addext keyUsage=critical,keyCertSign,digitalSignature 2>/dev/null
  sign() { # name subject san
    key "$1"; openssl req -new -key "$1.key" -subj "$2" -out "$1.csr"
    openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -out "$1.crt" \
      -extfile <(printf 'keyUsage=critical,digitalSignature,keyEncipherment\nextendedKeyUsage=serverAuth,clientAuth\n%s' "${3:+subjectAltName=$3}") 2>/dev/null
  }
  sign apiserver /CN=kube-apiserver "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,DNS:localhost,IP:127.0.0.1,IP:10.96.0.1,IP:10.244.0.1"
  sign apiserver-kubelet /O=system:masters/CN=apiserver-kubelet
  sign kubelet "/O=system:nodes/CN=system:node:$NODE" "DNS:$NODE,IP:127.0.0.1,IP:10.244.0.1"
  sign admin /O=system:masters/CN=admin
  sign kcm /CN=system:kube-controller-manager
  sign scheduler /CN=system:kube-scheduler
  sign proxy /CN=system:kube-proxy
  sign front-proxy /CN=front-proxy
  openssl genrsa -out sa.key 2048 2>/dev/null; openssl rsa -in sa.key -pubout -out sa.pub 2>/dev/null
fi
cd ..
kubeconf() { # file cert
  cat >"$1" <<Y
apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: "https://$IP:$API", certificate-authority-data: $(base64 -w0 pki/ca.crt)}}]
users: [{name: u, user: {client-certificate-data: $(base64 -w0 "pki/$2.crt"), client-key-data: $(base64 -w0 "pki/$2.key")}}]
contexts: [{name: lab, context: {cluster: lab, user: u}}]
current-context: lab
Y
}
for c in admin kcm scheduler kubelet proxy; do kubeconf $c.conf $c; done

# --- bridge (so that a pod can reach the apiserver at 10.244.0.1) ------------
ip link show wardroom0 >/dev/null 2>&1 || ip link add wardroom0 type bridge
ip addr show dev wardroom0 | grep -q 10.244.0.1 || ip addr add 10.244.0.1/24 dev wardroom0
ip link set wardroom0 up; sysctl -qw net.ipv4.ip_forward=1
# dockerd leaves the FORWARD policy at DROP: let the bridge through.
for r in "-i wardroom0 -j ACCEPT" "-o wardroom0 -j ACCEPT"; do iptables -C FORWARD $r 2>/dev/null || iptables -I FORWARD $r; done
mkdir -p cni/net.d
cat >cni/net.d/10-lab.conflist <<'Y'
{"cniVersion":"1.0.0","name":"lab","plugins":[
 {"type":"bridge","bridge":"wardroom0","isGateway":true,"ipMasq":true,"hairpinMode":true,
  "ipam":{"type":"host-local","ranges":[[{"subnet":"10.244.0.0/24"}]],"routes":[{"dst":"0.0.0.0/0"}]}},
 {"type":"portmap","capabilities":{"portMappings":true}}]}
Y

# --- etcd ---------------------------------------------------------------------
start etcd etcd --name lab --data-dir "$KR/etcd" --listen-client-urls http://127.0.0.1:$ETCD \
  --advertise-client-urls http://127.0.0.1:$ETCD --listen-peer-urls http://127.0.0.1:$((ETCD+10)) \
  --initial-advertise-peer-urls http://127.0.0.1:$((ETCD+10)) --initial-cluster lab=http://127.0.0.1:$((ETCD+10))

# --- containerd (its own root, state and socket) -------------------------------
cat >containerd.toml <<Y
version = 2
root = "$KR/containerd/root"
state = "$KR/containerd/state"
[grpc]
  address = "$KR/containerd/sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$KR/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "lab.local/pause:1"
  disable_apparmor = true
  restrict_oom_score_adj = true # where the machine has no CAP_SYS_RESOURCE a negative oom_score_adj is refused
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$KR/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
Y
start containerd containerd -c "$KR/containerd.toml"

# --- apiserver ------------------------------------------------------------------
waitfor 80 curl -fs http://127.0.0.1:$ETCD/health
start kube-apiserver "$KUBE" kube-apiserver --etcd-servers=http://127.0.0.1:$ETCD \
  --bind-address=$IP --advertise-address=10.244.0.1 --secure-port=$API \
  --tls-cert-file=pki/apiserver.crt --tls-private-key-file=pki/apiserver.key --client-ca-file=pki/ca.crt \
  --kubelet-client-certificate=pki/apiserver-kubelet.crt --kubelet-client-key=pki/apiserver-kubelet.key \
  --kubelet-certificate-authority=pki/ca.crt --kubelet-preferred-address-types=InternalIP \
  --service-account-issuer=https://kubernetes.default.svc.cluster.local \
  --service-account-signing-key-file=pki/sa.key --service-account-key-file=pki/sa.pub \
  --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
  --requestheader-client-ca-file=pki/ca.crt --requestheader-allowed-names=front-proxy \
  --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
  --requestheader-extra-headers-prefix=X-Remote-Extra- \
  --proxy-client-cert-file=pki/front-proxy.crt --proxy-client-key-file=pki/front-proxy.key \
  --service-cluster-ip-range=10.96.0.0/16 --allow-privileged=true --profiling=false ${APISERVER_EXTRA:-}

# --- images ---------------------------------------------------------------------
"$HERE/mkimage.sh" img/pause.tar lab.local/pause:1 '["/bin/busybox","sleep","2147483647"]'
ctr() { command ctr -a "$KR/containerd/sock" -n k8s.io "$@"; }
waitfor 80 ctr version
ctr images import img/pause.tar >/dev/null

waitfor 240 curl -fsk --cert pki/admin.crt --key pki/admin.key https://$IP:$API/readyz
start kube-controller-manager "$KUBE" kube-controller-manager --kubeconfig=kcm.conf --bind-address=127.0.0.1 \
  --secure-port=$((API+1)) --service-account-private-key-file=pki/sa.key --root-ca-file=pki/ca.crt \
  --use-service-account-credentials=true --leader-elect=false --authentication-kubeconfig=kcm.conf --authorization-kubeconfig=kcm.conf \
  --node-monitor-grace-period=20s --node-monitor-period=2s \
  --cluster-signing-cert-file=pki/ca.crt --cluster-signing-key-file=pki/ca.key
start kube-scheduler "$KUBE" kube-scheduler --kubeconfig=scheduler.conf --bind-address=127.0.0.1 \
  --secure-port=$((API+2)) --leader-elect=false --authentication-kubeconfig=scheduler.conf --authorization-kubeconfig=scheduler.conf

# --- kubelet ----------------------------------------------------------------------
cat >kubelet.yaml <<Y
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $IP
port: $KLET
healthzBindAddress: 127.0.0.1
healthzPort: $((KLET+1))
readOnlyPort: 0
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
authentication: {x509: {clientCAFile: $KR/pki/ca.crt}, anonymous: {enabled: false}, webhook: {enabled: true}}
authorization: {mode: Webhook}
tlsCertFile: $KR/pki/kubelet.crt
tlsPrivateKeyFile: $KR/pki/kubelet.key
containerRuntimeEndpoint: unix://$KR/containerd/sock
podLogsDir: $KR/podlogs
volumePluginDir: $KR/volplugins
clusterDomain: cluster.local
resolvConf: /etc/resolv.conf
evictionHard: {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "1%"}
imageGCHighThresholdPercent: 100
imageMinimumGCAge: 24h
syncFrequency: 10s
nodeStatusUpdateFrequency: 5s
nodeLeaseDurationSeconds: 12 # a node that is silent is noticed soon: see node-monitor-grace-period above
Y
start kubelet "$KUBE" kubelet --kubeconfig=kubelet.conf --config=kubelet.yaml --root-dir="$KR/kubelet" \
  --cert-dir="$KR/kubelet/pki" --hostname-override=$NODE --node-ip=10.244.0.1

# --- kube-proxy ---------------------------------------------------------------------
cat >proxy.yaml <<Y
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
bindAddress: 127.0.0.1
healthzBindAddress: 127.0.0.1:$((KLET+6))
metricsBindAddress: 127.0.0.1:$((KLET+7))
clientConnection: {kubeconfig: $KR/proxy.conf}
clusterCIDR: 10.244.0.0/24
hostnameOverride: $NODE
mode: iptables
nodePortAddresses: ["10.244.0.0/24"]
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
Y
start kube-proxy "$KUBE" kube-proxy --config=proxy.yaml
export KUBECONFIG=$KR/admin.conf
waitfor 240 sh -c "$KUBE kubectl get node $NODE -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}' | grep -q True"
waitfor 80 "$KUBE" kubectl get serviceaccount default
echo "$KR/admin.conf"

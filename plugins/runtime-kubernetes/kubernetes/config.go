package kubernetes

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

//go:embed schema.json
var schema []byte

// Defaults of a Config.
const (
	defaultHolder    = "/usr/local/bin/wardroom-holder"
	defaultHome      = "/home/agent"
	defaultMemory    = 512 << 20
	defaultCPU       = 0.5
	defaultTemp      = 1 << 30
	defaultUser      = 10001 // that of the images
	defaultKeep      = 2 * time.Minute
	defaultStart     = 2 * time.Minute
	defaultStopGrace = 10 * time.Second
	defaultGrace     = 10 * time.Minute
)

// leastMemory is the least that a holder and a command can start in, in bytes.
const leastMemory = 32 << 20

// Config is the configuration of the plugin; schema.json says what each field means.
type Config struct {
	Kubeconfig string `json:"kubeconfig"`
	Context    string `json:"context"`
	Namespace  string `json:"namespace"`
	StateDir   string `json:"stateDir"`
	MaxAgents  int    `json:"maxAgents"`

	runtime.ImageChoice
	Pull        string   `json:"pull"`
	PullSecrets []string `json:"pullSecrets"`
	Holder      string   `json:"holder"`

	Env       map[string]string    `json:"env"`
	Secrets   []string             `json:"secrets"`   // each key of them is a variable
	SecretEnv map[string]SecretRef `json:"secretEnv"` // by variable

	ServiceAccount string            `json:"serviceAccount"`
	PriorityClass  string            `json:"priorityClass"`
	NodeSelector   map[string]string `json:"nodeSelector"`
	Tolerations    []Toleration      `json:"tolerations"`
	User           int64             `json:"user"`

	HomeDir   string           `json:"homeDir"`   // in pods
	HomeClaim string           `json:"homeClaim"` // empty: homes end with their pod
	Mounts    map[string]Mount `json:"mounts"`    // by path, which is the same for a request, this service and pods

	Limits    Limits `json:"limits"`
	Requests  Limits `json:"requests"`
	TempBytes int64  `json:"tempBytes"`

	Egress       []string `json:"egress"` // CIDR, CIDR:PORT or dns; nil: anywhere
	StartTimeout string   `json:"startTimeout"`
	KeepPods     string   `json:"keepPods"`
	StopGrace    string   `json:"stopGrace"`
	OrphanGrace  string   `json:"orphanGrace"`

	Scrollback   int                             `json:"scrollback"`
	RingBytes    int                             `json:"ringBytes"`
	ResizePolicy string                          `json:"resizePolicy"`
	StuckAfter   string                          `json:"stuckAfter"`
	Types        map[string]runtime.DeclaredType `json:"types"`
}

// SecretRef is one key of a secret of the namespace.
type SecretRef struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// Toleration is one of a pod's.
type Toleration struct {
	Key      string `json:"key"`
	Operator string `json:"operator"`
	Value    string `json:"value"`
	Effect   string `json:"effect"`
}

// Mount is what agents get at a path: a claim, or a directory of the node.
type Mount struct {
	Claim   string `json:"claim"`
	SubPath string `json:"subPath"`
	Node    bool   `json:"node"` // the directory of the node with this path
	Mode    string `json:"mode"` // ro or rw
}

// Limits are those of agents that ask for none. Zero is the default.
type Limits struct {
	Memory string  `json:"memory"` // such as 512m
	CPU    float64 `json:"cpu"`    // cores

	memoryBytes int64 // Memory, read
}

// read reads the text.
func (l *Limits) read(field string, fallback int64) error {
	l.memoryBytes = fallback
	if l.Memory == "" {
		return nil
	}
	n, err := runtime.ParseMemory(l.Memory)
	if err != nil {
		return &runtime.Error{Code: runtime.CodeInvalidArgument, Field: field + ".memory", Message: err.Error()}
	}
	l.memoryBytes = n
	return nil
}

// decode reads a configuration that satisfies the schema, and fills in defaults and what the caller gives.
func decode(data []byte, stateDir string) (Config, error) {
	c := Config{}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, runtime.Errorf(runtime.CodeInvalidArgument, "the configuration cannot be read: %v", err)
	}
	for _, text := range []struct {
		field    *string
		fallback string
	}{
		{&c.StateDir, stateDir}, {&c.Pull, string(corev1.PullIfNotPresent)}, {&c.Holder, defaultHolder}, {&c.HomeDir, defaultHome},
	} {
		if *text.field == "" {
			*text.field = text.fallback
		}
	}
	if c.StateDir == "" {
		return c, &runtime.Error{Code: runtime.CodeInvalidArgument, Field: "stateDir", Message: "is not given, and the host names no directory either"}
	}
	c.SetDefaults()
	c.Limits.CPU = cmp.Or(c.Limits.CPU, defaultCPU)
	c.TempBytes = cmp.Or(c.TempBytes, defaultTemp)
	c.User = cmp.Or(c.User, defaultUser)
	switch c.Pull {
	case "never":
		c.Pull = string(corev1.PullNever)
	case "if-missing":
		c.Pull = string(corev1.PullIfNotPresent)
	case "always":
		c.Pull = string(corev1.PullAlways)
	}
	if err := c.Limits.read("limits", defaultMemory); err != nil {
		return c, err
	}
	return c, c.Requests.read("requests", 0)
}

// duration reads a duration that problems has checked; fallback for none.
func duration(text string, fallback time.Duration) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fallback
	}
	return d
}

// Forms of names in a cluster.
var (
	nameForm  = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	imageForm = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:/@-]{0,510}$`)
)

// problems finds what the schema cannot say.
func (c *Config) problems() []plugin.Problem {
	var list []plugin.Problem
	add := func(at, format string, args ...any) {
		list = append(list, plugin.Problem{Path: at, Severity: plugin.SeverityError, Text: fmt.Sprintf(format, args...)})
	}
	for at, text := range map[string]string{
		"/stuckAfter": c.StuckAfter, "/orphanGrace": c.OrphanGrace, "/startTimeout": c.StartTimeout, "/keepPods": c.KeepPods, "/stopGrace": c.StopGrace,
	} {
		if d, err := time.ParseDuration(text); text != "" && (err != nil || d <= 0) {
			add(at, "is no duration above zero, such as 10m")
		}
	}
	if c.KeepPods != "" && duration(c.KeepPods, 0) < 10*time.Second {
		add("/keepPods", "is less than the 10s that a start may take between its steps")
	}
	if c.Limits.memoryBytes < leastMemory {
		add("/limits/memory", "is less than the %d MiB that an agent needs to start", leastMemory>>20)
	}
	if c.Requests.memoryBytes > c.Limits.memoryBytes {
		add("/requests/memory", "is more than limits.memory")
	}
	if c.Requests.CPU > c.Limits.CPU {
		add("/requests/cpu", "is more than limits.cpu")
	}
	for at, name := range c.names() {
		if name != "" && !nameForm.MatchString(name) {
			add(at, "%q is not a name: small letters, digits, - and .", name)
		}
	}
	for at, err := range c.ImageChoice.Problems(checkImage) {
		add(at, "%v", err)
	}
	if e := runtime.AsError(local.CheckEnv("env", c.Env)); e != nil {
		add("/env", "%s: %s", e.Field, e.Message)
	}
	asEnv := map[string]string{}
	for name := range c.SecretEnv {
		asEnv[name] = ""
	}
	if e := runtime.AsError(local.CheckEnv("secretEnv", asEnv)); e != nil {
		add("/secretEnv", "%s: %s", e.Field, e.Message)
	}
	for _, at := range slices.Sorted(maps.Keys(c.Mounts)) {
		m, where := c.Mounts[at], "/mounts/"+strings.ReplaceAll(at, "/", "~1")
		switch {
		case path.Clean(at) != at || at == "/":
			add(where, "is not the clean path of a directory below /")
		case c.reserved(at) != "":
			add(where, "cannot be mounted on: %s", c.reserved(at))
		case m.Node == (m.Claim != ""):
			add(where, "needs either claim or node")
		case m.SubPath != "" && (path.IsAbs(m.SubPath) || !filepath.IsLocal(m.SubPath)):
			add(where+"/subPath", "is not a path inside of the claim")
		}
	}
	for i, text := range c.Egress {
		if _, err := parseEgress(text); err != nil {
			add(fmt.Sprintf("/egress/%d", i), "%v", err)
		}
	}
	return list
}

// names are the names of objects of the configuration, by their path in it.
func (c *Config) names() map[string]string {
	all := map[string]string{
		"/namespace": c.Namespace, "/serviceAccount": c.ServiceAccount, "/priorityClass": c.PriorityClass, "/homeClaim": c.HomeClaim,
	}
	for i, name := range c.PullSecrets {
		all[fmt.Sprintf("/pullSecrets/%d", i)] = name
	}
	for i, name := range c.Secrets {
		all[fmt.Sprintf("/secrets/%d", i)] = name
	}
	for variable, ref := range c.SecretEnv {
		all["/secretEnv/"+variable+"/name"] = ref.Name
	}
	for at, m := range c.Mounts {
		all["/mounts/"+strings.ReplaceAll(at, "/", "~1")+"/claim"] = m.Claim
	}
	return all
}

// checkImage refuses what is no reference of an image.
func checkImage(ref string) error {
	if !imageForm.MatchString(ref) {
		return fmt.Errorf("%q is not a reference of an image, such as wardroom/base:1", ref)
	}
	return nil
}

// kept are directories of a pod that nothing is mounted on or below.
var kept = []string{"/proc", "/sys", "/dev", runDir, "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/local/bin", "/tmp"}

// reserved says why nothing may be mounted on a path of a pod; empty if it may.
func (c *Config) reserved(at string) string {
	for _, dir := range append(slices.Clone(kept), c.HomeDir, workDir) {
		if within(at, dir) || within(dir, at) {
			return dir + " is the pod's own"
		}
	}
	return ""
}

// within reports whether a path is a directory or below it.
func within(at, dir string) bool {
	return at == dir || strings.HasPrefix(at, strings.TrimSuffix(dir, "/")+"/")
}

// egress is one way out of an agent's pod.
type egress struct {
	prefix netip.Prefix
	port   uint16 // 0: any
	dns    bool   // the cluster's names, and nothing else
}

// parseEgress reads CIDR, CIDR:PORT or dns.
func parseEgress(text string) (egress, error) {
	if text == "dns" {
		return egress{dns: true}, nil
	}
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return egress{prefix: prefix.Masked()}, nil
	}
	at := strings.LastIndexByte(text, ':')
	if at > 0 {
		prefix, err := netip.ParsePrefix(text[:at])
		port, portErr := strconv.ParseUint(text[at+1:], 10, 16)
		if err == nil && portErr == nil && port > 0 {
			return egress{prefix: prefix.Masked(), port: uint16(port)}, nil
		}
	}
	return egress{}, fmt.Errorf("%q is none of CIDR, CIDR:PORT and dns", text)
}

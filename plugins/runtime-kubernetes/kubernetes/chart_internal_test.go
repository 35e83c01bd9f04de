package kubernetes

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// chart is the chart of the service, and of what this runtime needs.
const chart = "../../../packaging/helm/wardroom"

// Helm returns the helm that make helm builds. Without it the test is skipped, or fails where real components are required.
func Helm(t testing.TB) string {
	t.Helper()
	if found, err := exec.LookPath("helm"); err == nil {
		return found
	}
	found, _ := filepath.Glob("../../../.cache/bin/helm-*")
	if len(found) == 0 {
		if os.Getenv("WARDROOM_REQUIRE_REAL") != "" {
			t.Fatal("there is no helm: make helm builds it")
		}
		t.Skip("there is no helm: make helm builds it")
	}
	path, err := filepath.Abs(found[len(found)-1])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// render runs helm template, with values on top, and returns what it prints.
func render(t *testing.T, values ...string) (string, error) {
	t.Helper()
	args := []string{"template", "lab", chart, "--namespace", "team", "--kube-version", "1.34.4", "--api-versions", "monitoring.coreos.com/v1"}
	for _, value := range values {
		args = append(args, "--set-json", value)
	}
	out, err := exec.Command(Helm(t), args...).CombinedOutput()
	return string(out), err
}

func TestChartLint(t *testing.T) {
	for _, args := range [][]string{nil, {"--set-json", `agents={"enabled":false}`, "--set-json", `workspaces={"claim":"work"}`}} {
		out, err := exec.Command(Helm(t), append([]string{"lint", "--strict", chart}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("helm lint %v: %v\n%s", args, err, out)
		}
	}
}

// TestChartValues has values that nobody means refused before anything is installed.
func TestChartValues(t *testing.T) {
	for _, tt := range []struct{ value, wrong string }{
		{`podDisruptionBudget={"maxUnavailable":2}`, "/podDisruptionBudget/maxUnavailable"},
		{`agents={"runtime":{"namespace":"other"}}`, "/agents/runtime"},
		{`config={"sever":{}}`, "sever"},
		{`replicas=2`, "replicas"},
		{`persistence={"accessModes":["ReadOnlyMany"]}`, "/persistence/accessModes/0"},
		{`serviceMonitor={"authorization":{"name":"token"}}`, "/serviceMonitor/authorization"},
		{`workspaces={"claim":"Work_1"}`, "/workspaces/claim"},
	} {
		if out, err := render(t, tt.value); err == nil || !strings.Contains(out, tt.wrong) {
			t.Errorf("%s: %v\n%.500s", tt.value, err, out)
		}
	}
}

// TestChartRole compares what the chart's role grants with what the runtime asks for, either way.
func TestChartRole(t *testing.T) {
	out, err := render(t)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var want []string
	for _, n := range needed {
		for _, verb := range n.verbs {
			want = append(want, fmt.Sprintf("%s %s", verb, strings.Trim(n.group+"/"+strings.Trim(n.resource+"/"+n.subresource, "/"), "/")))
		}
	}
	var got []string
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(out)), 4096)
	for {
		var role rbacv1.Role
		err := documents.Decode(&role)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(role.Kind, "ClusterRole") {
			t.Errorf("the chart grants something in the whole cluster: %s %s", role.Kind, role.Name)
		}
		if role.Kind != "Role" {
			continue
		}
		if role.Namespace != "team-agents" {
			t.Errorf("the role is in the namespace %q", role.Namespace)
		}
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				for i := range rule.Resources {
					got = append(got, fmt.Sprintf("%s %s", verb, strings.Trim(rule.APIGroups[0]+"/"+rule.Resources[i], "/")))
				}
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the chart grants\n%s\nand the runtime asks for\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestChartConfig looks at the configuration that the chart writes, and at what belongs to a value.
func TestChartConfig(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []string
		has    []string
		hasNot []string
	}{
		{"as it comes", nil, []string{"listen: 0.0.0.0:8080", "namespace: team-agents", "plugin: runtime-kubernetes", "kind: PodDisruptionBudget", "automountServiceAccountToken: true"}, []string{"ServiceMonitor", "public: true", "/workspaces"}},
		{"without agents", []string{`agents={"enabled":false}`}, []string{"automountServiceAccountToken: false"}, []string{"runtime-kubernetes", "kind: Role", "kind: Namespace", "automountServiceAccountToken: true"}},
		{"workspaces", []string{`workspaces={"claim":"work"}`, `agents={"runtime":{"mounts":{"/srv/data":{"node":true,"mode":"ro"}}}}`},
			[]string{"root: /workspaces", "claim: work", "claimName: work", "/srv/data:"}, nil},
		{"metrics for everybody", []string{`serviceMonitor={"enabled":true}`}, []string{"kind: ServiceMonitor", "public: true"}, []string{"type: Bearer"}},
		{"metrics with a key", []string{`serviceMonitor={"enabled":true,"authorization":{"name":"token","key":"key"}}`}, []string{"type: Bearer"}, []string{"public: true"}},
		{"values over the chart's", []string{`config={"server":{"listen":"0.0.0.0:8080","shutdownTimeout":"20s"}}`}, []string{"shutdownTimeout: 20s", "path: /var/lib/wardroom/store"}, nil},
		{"a claim that is there", []string{`persistence={"existingClaim":"mine"}`}, []string{"claimName: mine"}, []string{"volumeClaimTemplates"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := render(t, tt.values...)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, text := range tt.has {
				if !strings.Contains(out, text) {
					t.Errorf("%q is not there", text)
				}
			}
			for _, text := range tt.hasNot {
				if strings.Contains(out, text) {
					t.Errorf("%q is there", text)
				}
			}
		})
	}
}

package kubernetes_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/plugintest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// account is a service account of a test's own, with a role.
type account struct {
	*cluster
	name  string
	roles rbacclient.RoleInterface
	role  *rbacv1.Role
}

// right is one verb of a role on one resource.
type right struct{ verb, resource string }

// rights are those that docs/kubernetes.md has.
func rights() (all []right) {
	for resource, verbs := range map[string]string{
		"pods": "create delete get list watch", "pods/exec": "create get", "configmaps": "create get", "networkpolicies": "create update",
	} {
		for verb := range strings.FieldsSeq(verbs) {
			all = append(all, right{verb, resource})
		}
	}
	return all
}

// rules are the rules of a role with rights.
func rules(have []right) (list []rbacv1.PolicyRule) {
	for _, r := range have {
		group := ""
		if r.resource == "networkpolicies" {
			group = "networking.k8s.io"
		}
		list = append(list, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{r.resource}, Verbs: []string{r.verb}})
	}
	return list
}

// without are all rights but one.
func without(one right) []right {
	return slices.DeleteFunc(rights(), func(r right) bool { return r == one })
}

// account makes an account with rights.
func (c *cluster) account(ctx context.Context, t *testing.T, have []right) *account {
	t.Helper()
	a := &account{cluster: c, name: id(t)}
	if _, err := c.core.ServiceAccounts(c.namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: a.name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	rbac, err := rbacclient.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	a.roles = rbac.Roles(c.namespace)
	if a.role, err = a.roles.Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: a.name}, Rules: rules(have)}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = rbac.RoleBindings(c.namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: a.name}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: a.name, Namespace: c.namespace}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: a.name},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// allow gives the account rights instead of those that it had.
func (a *account) allow(ctx context.Context, t *testing.T, have []right) {
	t.Helper()
	a.role.Rules = rules(have)
	var err error
	if a.role, err = a.roles.Update(ctx, a.role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// token makes a token of the account, which is over once revoke is called.
func (a *account) token(ctx context.Context, t *testing.T) (token string, revoke func()) {
	t.Helper()
	secrets := a.core.Secrets(a.namespace)
	secret, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: a.name + "-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := a.core.ServiceAccounts(a.namespace).CreateToken(ctx, a.name, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: secret.Name, UID: secret.UID},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Status.Token, func() {
		t.Helper()
		if err := secrets.Delete(ctx, secret.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// kubeconfig writes one for the cluster with a credential, and returns its path.
func (c *cluster) kubeconfigWith(t *testing.T, auth *clientcmdapi.AuthInfo) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for key := range config.AuthInfos {
		config.AuthInfos[key] = auth
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// healthy waits until the health of a plugin is of a status, with words for its reason.
func healthy(ctx context.Context, t *testing.T, p *plugintest.Plugin, want, words string) {
	t.Helper()
	var last plugin.Health
	defer func() {
		if t.Failed() {
			t.Logf("the last health is %+v", last)
		}
	}()
	until(ctx, t, fmt.Sprintf("health %s with %q", want, words), func() bool {
		health, err := p.Conn().Health(ctx)
		last = health
		return err == nil && health.Status == want && strings.Contains(health.Reason, words)
	})
}

// TestAccess has an account that may do less than is needed: the missing verb is named, in the error and in the health.
func TestAccess(t *testing.T) {
	t.Parallel()
	c, ctx := need(t), within(t)
	a := c.account(ctx, t, without(right{"create", "pods"}))
	token, _ := a.token(ctx, t)
	p := c.plugin(t, map[string]any{"kubeconfig": c.kubeconfigWith(t, &clientcmdapi.AuthInfo{Token: token})})
	_, err := p.Conn().Runtime().Spawn(ctx, shell(id(t)))
	wantError(t, err, runtime.CodeSpawnFailed, "lacks the verb create on pods")
	if health, err := p.Conn().Health(ctx); err != nil || health.Status != plugin.StatusFailed || !strings.Contains(health.Reason, "create pods") {
		t.Errorf("health %+v", health)
	}
	// What is needed is enough.
	a.allow(ctx, t, rights())
	spec := shell(id(t))
	until(ctx, t, "the role to count", func() bool { _, err = p.Conn().Runtime().Spawn(ctx, spec); return err == nil })
	if health, err := p.Conn().Health(ctx); err != nil || health.Status != plugin.StatusOK {
		t.Errorf("health %+v", health)
	}
	if err := p.Conn().Runtime().Stop(ctx, spec.ID, runtime.StopOptions{Force: true}); err != nil {
		t.Error(err)
	}
}

// TestRightTaken takes one right after the other from the account of a runtime that has an agent, and starts the runtime again without
// it: the health names the right, the agent is not lost, and all is well when the right is back.
func TestRightTaken(t *testing.T) {
	t.Parallel()
	c := need(t)
	for _, one := range rights() {
		t.Run(one.verb+"-"+strings.ReplaceAll(one.resource, "/", "-"), func(t *testing.T) {
			t.Parallel()
			ctx := within(t)
			a := c.account(ctx, t, rights())
			token, _ := a.token(ctx, t)
			p := c.plugin(t, map[string]any{"kubeconfig": c.kubeconfigWith(t, &clientcmdapi.AuthInfo{Token: token})})
			agent := spawn(ctx, t, p.Conn().Runtime(), shell(id(t)))
			say(ctx, t, p.Conn().Runtime(), agent.ID, "kept=yes")
			a.allow(ctx, t, without(one))
			healthy(ctx, t, p, plugin.StatusFailed, one.verb+" "+one.resource)
			conn, err := p.Restart(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if now, err := conn.Runtime().Inspect(ctx, agent.ID); err != nil || now.Status == runtime.StatusStopped {
				t.Errorf("without that right it is %+v, %v", now, err)
			}
			a.allow(ctx, t, rights())
			healthy(ctx, t, p, plugin.StatusOK, "")
			status(ctx, t, conn.Runtime(), agent.ID, runtime.StatusReady)
			if got := say(ctx, t, conn.Runtime(), agent.ID, "echo $kept"); got != "yes" {
				t.Errorf("then it says %q", got)
			}
		})
	}
}

// tokenEnds ends the token of a runtime that has an agent, which comes from a file as auth has it: the health reports it, the agent
// runs on, is out of reach once its connection is lost, and all is well when there is another token.
func tokenEnds(t *testing.T, auth func(file string) *clientcmdapi.AuthInfo) {
	t.Helper()
	c, ctx := need(t), within(t)
	a := c.account(ctx, t, rights())
	first, revoke := a.token(ctx, t)
	file := filepath.Join(t.TempDir(), "token")
	give := func(token string) {
		t.Helper()
		if err := os.WriteFile(file+".new", []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	give(first)
	p := c.plugin(t, map[string]any{"kubeconfig": c.kubeconfigWith(t, auth(file))})
	agent := spawn(ctx, t, p.Conn().Runtime(), shell(id(t)))
	say(ctx, t, p.Conn().Runtime(), agent.ID, "kept=yes")
	revoke()
	healthy(ctx, t, p, plugin.StatusFailed, "its token or certificate may have ended")
	if got := say(ctx, t, p.Conn().Runtime(), agent.ID, "echo $kept"); got != "yes" {
		t.Errorf("without a token it says %q", got)
	}
	conn, err := p.Restart(ctx)
	if err != nil {
		t.Fatal(err)
	}
	status(ctx, t, conn.Runtime(), agent.ID, runtime.StatusUnreachable)
	second, _ := a.token(ctx, t)
	give(second)
	healthy(ctx, t, p, plugin.StatusOK, "")
	status(ctx, t, conn.Runtime(), agent.ID, runtime.StatusReady)
	if got := say(ctx, t, conn.Runtime(), agent.ID, "echo $kept"); got != "yes" {
		t.Errorf("with another token it says %q", got)
	}
}

// TestTokenFileEnds ends the token that a kubeconfig names the file of. The client's library reads it again within a minute.
func TestTokenFileEnds(t *testing.T) {
	t.Parallel()
	tokenEnds(t, func(file string) *clientcmdapi.AuthInfo { return &clientcmdapi.AuthInfo{TokenFile: file} })
}

// TestTokenCommandEnds ends the token that a command of a kubeconfig gets.
func TestTokenCommandEnds(t *testing.T) {
	t.Parallel()
	tokenEnds(t, func(file string) *clientcmdapi.AuthInfo {
		return &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
			APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode, Command: "sh", Args: []string{"-c",
				`printf '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "%s"}}' "$(cat ` + file + `)"`},
		}}
	})
}

package kubernetes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/wardroom/wardroom/plugins/runtime-kubernetes/kubernetes"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

// serviceImage is the service as the chart starts it: that of packaging/images where WARDROOM_SERVICE_IMAGE names it on the node,
// else one that is made of what the tree builds.
func serviceImage(t *testing.T, c *cluster) string {
	t.Helper()
	if name := os.Getenv("WARDROOM_SERVICE_IMAGE"); name != "" {
		return name
	}
	const name, root = "wardroom/service-test:1", "../../.."
	at := t.TempDir()
	run := func(cmd *exec.Cmd) {
		t.Helper()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	binary := os.Getenv("WARDROOM_BIN")
	if binary == "" {
		binary = filepath.Join(at, "wardroom")
		build := exec.Command("go", "build", "-tags", "nomsgpack", "-o", binary, "./appliance/cmd/wardroom")
		build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		run(build)
	}
	plugins := filepath.Join(at, "plugins")
	if err := os.Mkdir(plugins, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(dir, "runtime-kubernetes"), filepath.Join(plugins, "runtime-kubernetes")); err != nil {
		t.Fatal(err)
	}
	run(exec.Command(binary, "plugin", "manifest", plugins))
	archive := filepath.Join(at, "image.tar")
	run(exec.Command("bash", root+"/scripts/cluster/mkimage.sh", archive, name, `["/opt/wardroom/wardroom"]`, binary+"=/opt/wardroom/wardroom",
		plugins+"/runtime-kubernetes=/opt/wardroom/plugins/runtime-kubernetes", plugins+"/manifest.json=/opt/wardroom/plugins/manifest.json"))
	run(exec.Command("ctr", "-a", filepath.Join(filepath.Dir(c.kubeconfig), "containerd/sock"), "-n", "k8s.io", "images", "import", archive))
	return name
}

// exec runs a command in a pod and returns what it prints.
func (c *cluster) exec(ctx context.Context, namespace, pod string, command ...string) (string, error) {
	request := c.core.RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").VersionedParams(&corev1.PodExecOptions{
		Command: command, Stdout: true, Stderr: true,
	}, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(c.config, http.MethodGet, request.URL().String())
	if err != nil {
		return "", err
	}
	var out, words bytes.Buffer
	if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &words}); err != nil {
		return "", fmt.Errorf("%v: %w: %s", command, err, words.String())
	}
	return out.String(), nil
}

// node makes a volume of a directory of the node, bound to a claim of a namespace, which is made too where make says so.
func (c *cluster) node(t *testing.T, at, namespace, claim string, mode corev1.PersistentVolumeAccessMode, make bool) {
	t.Helper()
	none, size := "", resourceList("1Gi")
	volume := namespace + "-" + claim
	_, err := c.core.PersistentVolumes().Create(t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: volume},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: []corev1.PersistentVolumeAccessMode{mode}, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: at}},
			ClaimRef:               &corev1.ObjectReference{Namespace: namespace, Name: claim},
		},
	}, metav1.CreateOptions{})
	if err == nil && make {
		_, err = c.core.PersistentVolumeClaims(namespace).Create(t.Context(), &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: claim},
			Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: &none, VolumeName: volume, AccessModes: []corev1.PersistentVolumeAccessMode{mode},
				Resources: corev1.VolumeResourceRequirements{Requests: size},
			},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.core.PersistentVolumes().Delete(context.Background(), volume, metav1.DeleteOptions{}) })
}

// folder makes a directory of the node, which is this machine, that every user may write in.
func folder(t *testing.T) string {
	t.Helper()
	at, err := os.MkdirTemp("/var/tmp", "chart")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(at) })
	if err := os.Chmod(at, 0o777); err != nil {
		t.Fatal(err)
	}
	return at
}

// TestChartInstall installs the chart on the cluster, runs an execution through the service, an agent in a pod and a thread with a
// worktree that its pod gets too, has the pod of the service replaced, and takes the release away.
func TestChartInstall(t *testing.T) {
	t.Parallel()
	c, helm := need(t), kubernetes.Helm(t)
	if os.Getuid() != 0 {
		t.Skip("makes images and directories on the node, which takes root")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	image := serviceImage(t, c)
	team := "wardroom-chart-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	agents := team + "-agents"
	for _, name := range []string{team, agents} {
		_, err := c.core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"pod-security.kubernetes.io/enforce": "restricted",
		}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.core.Namespaces().Delete(context.Background(), name, metav1.DeleteOptions{}) })
	}
	work := folder(t)
	c.node(t, folder(t), team, "data-lab-wardroom-0", corev1.ReadWriteOnce, false)
	c.node(t, work, team, "work", corev1.ReadWriteMany, true)
	c.node(t, work, agents, "work", corev1.ReadWriteMany, true)
	shop := repository(ctx, t)
	c.node(t, filepath.Dir(shop), team, "shop", corev1.ReadWriteMany, true)

	repo, tag, _ := strings.Cut(image, ":")
	values, err := json.Marshal(map[string]any{
		"image":       map[string]any{"repository": repo, "tag": tag, "pullPolicy": "Never"},
		"resources":   map[string]any{"requests": map[string]any{"cpu": "50m", "memory": "128Mi"}, "limits": map[string]any{"memory": "512Mi"}},
		"persistence": map[string]any{"size": "1Gi"}, "workspaces": map[string]any{"claim": "work"},
		"agents": map[string]any{"namespace": map[string]any{"create": false}, "runtime": map[string]any{
			"image": c.image, "pull": "never", "limits": map[string]any{"memory": "96m", "cpu": 0.5}, "requests": map[string]any{"memory": "32m", "cpu": 0.01},
		}},
		"config": map[string]any{
			"agentTypes": map[string]any{"shell": map[string]any{
				"command": "sh", "env": map[string]any{"PS1": "$ "}, "exit": "exit", "idle": "1s", "ready": map[string]any{"pattern": `^\$$$ ?$$`},
			}},
			"store":   map[string]any{"minFree": "64MiB"},
			"threads": map[string]any{"finish": map[string]any{"push": true}},
		},
		"extraVolumes":      []any{map[string]any{"name": "shop", "persistentVolumeClaim": map[string]any{"claimName": "shop"}}},
		"extraVolumeMounts": []any{map[string]any{"name": "shop", "mountPath": "/srv/git"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "values.json")
	if err := os.WriteFile(file, values, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(ctx, helm, append(args, "--namespace", team, "--kubeconfig", c.kubeconfig)...)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("helm %v: %v\n%s\n%s", args, err, out, c.tell(team, "lab-wardroom-0"))
		}
	}
	run("install", "lab", "../../../packaging/helm/wardroom", "--values", file, "--wait", "--timeout", "2m")

	made, err := c.exec(ctx, team, "lab-wardroom-0", "/opt/wardroom/wardroom", "auth", "create-key", "--name", "first", "--scopes", "admin", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var key struct {
		Key string `json:"key"`
	}
	if err := json.Unmarshal([]byte(made), &key); err != nil || key.Key == "" {
		t.Fatalf("no key: %v", err)
	}
	api := c.client(ctx, t, team, key.Key)

	t.Run("execution", func(t *testing.T) {
		pod, err := c.core.Pods(team).Get(ctx, "lab-wardroom-0", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		echo, err := agent.New(agent.Options{
			URL: "http://" + pod.Status.PodIP + ":8080", Token: key.Key, Name: "echo", Capabilities: []string{"echo"},
			Handler: func(_ context.Context, task *agent.Task) (any, error) {
				var in struct{ Text string }
				err := task.Bind(&in)
				return map[string]any{"text": in.Text}, err
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		serving, leave := context.WithCancel(ctx)
		left := make(chan error, 1)
		go func() { left <- echo.Run(serving) }()
		defer func() { leave(); <-left }()
		definition := "name: echo\nversion: 1.0.0\ninput:\n  text: {type: string, required: true}\nagents:\n  capabilities: [echo]\n  min: 1\n" +
			"aggregation:\n  strategy: first\noutput:\n  text: $first.text\n"
		if _, err := api.CreatePattern(ctx, client.PatternInput{Name: "echo", Definition: definition}); err != nil {
			t.Fatal(err)
		}
		var done *client.Execution
		eventually(ctx, t, func() (err error) { // the agent may be on its way
			done, err = api.Execute(ctx, client.ExecuteRequest{Pattern: "echo", Input: json.RawMessage(`{"text":"over the cluster"}`)})
			return err
		})
		if !strings.Contains(string(done.Result), "over the cluster") {
			t.Errorf("it came to %s", done.Result)
		}
	})
	t.Run("thread", func(t *testing.T) {
		thread, err := api.SpawnThread(ctx, client.ThreadSpec{
			ExecutionID: client.NewExecution, Name: "greeting", AgentType: "shell", Role: "maker", Objective: "echo Welcome >hello.txt; git add hello.txt; git commit -q -m greeting; echo more >more.txt",
			Preparation: client.ThreadPreparation{Workspace: &client.WorkspaceSpec{Repo: "file:///srv/git/shop"}},
			Policy:      client.ThreadPolicy{CompleteAfterTurns: 1, Finish: &client.ThreadFinish{Commit: true, Message: "rest", Push: true, Branch: "wardroom/done"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, func() error {
			now, err := api.GetThread(ctx, thread.ID)
			if err != nil {
				return err
			}
			switch now.Status {
			case "completed":
				return nil
			case "failed", "stopped":
				t.Fatalf("the thread is %s: %s %+v", now.Status, now.StatusReason, now.Error)
			}
			return fmt.Errorf("the thread is %s: %s", now.Status, now.StatusReason)
		})
		if got := git(ctx, t, "-C", shop, "log", "--format=%s", "wardroom/done"); got != "rest\ngreeting\nfirst" {
			t.Errorf("the branch has %q", got)
		}
	})
	t.Run("replaced", func(t *testing.T) {
		old, err := c.core.Pods(team).Get(ctx, "lab-wardroom-0", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		spawned, err := api.SpawnManagedAgent(ctx, client.ManagedAgentSpec{Type: "shell", Name: "helper"})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.core.Pods(team).Delete(ctx, old.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, func() error {
			now, err := c.core.Pods(team).Get(ctx, old.Name, metav1.GetOptions{})
			if err == nil && (now.UID == old.UID || len(now.Status.ContainerStatuses) == 0 || !now.Status.ContainerStatuses[0].Ready) {
				err = fmt.Errorf("the pod is not replaced: %s", now.Status.Phase)
			}
			return err
		})
		api := c.client(ctx, t, team, key.Key)
		eventually(ctx, t, func() error {
			reply, err := api.SendManagedAgent(ctx, spawned.ID, client.ManagedAgentInput{Message: "echo still $((40+2))", ExpectResponse: true})
			if err == nil && (reply.Response == nil || !strings.Contains(reply.Response.Text, "still 42")) {
				err = fmt.Errorf("it said %+v", reply.Response)
			}
			return err
		})
		if err := api.StopManagedAgent(ctx, spawned.ID, false, time.Second); err != nil {
			t.Error(err)
		}
	})
	run("uninstall", "lab", "--wait", "--timeout", "2m")
	eventually(ctx, t, func() error {
		if _, err := c.core.Pods(team).Get(ctx, "lab-wardroom-0", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the pod is there still"), err)
		}
		return nil
	})
	if _, err := c.core.PersistentVolumeClaims(team).Get(ctx, "data-lab-wardroom-0", metav1.GetOptions{}); err != nil {
		t.Errorf("the volume of the store went with the release: %v", err)
	}
}

// client is one of the API of the service in a namespace, at its pod.
func (c *cluster) client(ctx context.Context, t *testing.T, namespace, key string) *client.Client {
	t.Helper()
	pod, err := c.core.Pods(namespace).Get(ctx, "lab-wardroom-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	api, err := client.New("http://"+pod.Status.PodIP+":8080", client.Options{Token: key, HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// tell is what is known of a pod, for failures.
func (c *cluster) tell(namespace, pod string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	log, _ := c.core.Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(ctx)
	is, err := c.core.Pods(namespace).Get(ctx, pod, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s\n%+v", log, is.Status)
}

// repository makes a bare repository named shop with one commit, which the user of the pods may write to.
func repository(ctx context.Context, t *testing.T) string {
	t.Helper()
	base := folder(t)
	seed, shop := filepath.Join(base, "seed"), filepath.Join(base, "shop")
	git(ctx, t, "init", "-q", "-b", "main", seed)
	git(ctx, t, "-C", seed, "commit", "-q", "--allow-empty", "-m", "first")
	git(ctx, t, "clone", "-q", "--bare", seed, shop)
	if out, err := exec.CommandContext(ctx, "chown", "-R", "10001:10001", shop).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return shop
}

func git(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "safe.directory=*"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// eventually tries until there is no error.
func eventually(ctx context.Context, t *testing.T, try func() error) {
	t.Helper()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("not in time: %v", err)
		}
	}
}

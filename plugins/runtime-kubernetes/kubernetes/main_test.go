package kubernetes_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/wardroom/wardroom/plugins/runtime-kubernetes/kubernetes"
	"github.com/wardroom/wardroom/sdk/plugintest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// dir has the plugin and the holder; made once for all tests.
var dir string

var binaries = sync.OnceValue(func() error {
	for name, pkg := range map[string]string{"runtime-kubernetes": "..", "holder": "github.com/wardroom/wardroom/plugins/holder"} {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return nil
})

// aloneVariable says that this process runs one test, which leaves goroutines: those of the client's library that read
// certificates anew have no end.
const aloneVariable = "WARDROOM_TEST_ALONE"

// alone runs a test in a process of its own; it reports whether this is that process.
func alone(ctx context.Context, t *testing.T) bool {
	t.Helper()
	if os.Getenv(aloneVariable) != "" {
		return true
	}
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), aloneVariable+"=1", "WARDROOM_CLUSTER_IMAGE="+need(t).image)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// Tests wait for pods most of the time, so that more of them run beside each other than there are processors, unless the flag is given.
const (
	parallelFlag = "test.parallel"
	beside       = "6"
)

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == parallelFlag })
	if !given {
		if err := flag.Set(parallelFlag, beside); err != nil {
			panic(err)
		}
	}
	var err error
	if dir, err = os.MkdirTemp("", "rtkube"); err != nil {
		panic(err)
	}
	code := m.Run()
	if shared != nil {
		if err := shared.core.Namespaces().Delete(context.Background(), shared.namespace, metav1.DeleteOptions{}); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
		}
		shared.http()
	}
	if code == 0 && os.Getenv(aloneVariable) == "" {
		err := goleak.Find()
		for until := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(until); { // idle connections end by themselves
			err = goleak.Find()
		}
		if err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// testImage has busybox and the holder.
const testImage = "wardroom/test:1"

// cluster is a real cluster, with a namespace of the tests' own.
type cluster struct {
	kubeconfig string
	namespace  string
	image      string
	config     *rest.Config
	core       *coreclient.CoreV1Client
	http       func() // closes idle connections
}

var (
	shared     *cluster
	openShared = sync.OnceValue(func() error {
		c := &cluster{kubeconfig: os.Getenv("WARDROOM_CLUSTER"), image: os.Getenv("WARDROOM_CLUSTER_IMAGE")}
		if c.kubeconfig == "" {
			return errors.New("WARDROOM_CLUSTER names no kubeconfig: scripts/cluster/up.sh starts a cluster")
		}
		if err := binaries(); err != nil {
			return err
		}
		if c.image == "" {
			c.image = testImage
			out, err := exec.Command("bash", "../../../scripts/cluster/image.sh", filepath.Dir(c.kubeconfig), testImage, filepath.Join(dir, "holder")).CombinedOutput()
			if err != nil {
				return fmt.Errorf("image.sh: %w\n%s", err, out)
			}
		}
		var err error
		if c.config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfig); err != nil {
			return err
		}
		c.config.QPS = -1 // what is measured and waited for is not held back
		client, err := rest.HTTPClientFor(c.config)
		if err != nil {
			return err
		}
		c.http = client.CloseIdleConnections
		if c.core, err = coreclient.NewForConfigAndClient(c.config, client); err != nil {
			return err
		}
		c.namespace = "wardroom-test-" + strconv.FormatInt(time.Now().UnixNano(), 36)
		if err := c.makeNamespace(context.Background()); err != nil {
			return err
		}
		shared = c
		return nil
	})
)

// makeNamespace makes the namespace of a cluster, and returns when pods can be made in it: once its service account is there.
func (c *cluster) makeNamespace(ctx context.Context) error {
	_, err := c.core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: c.namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		_, err := c.core.ServiceAccounts(c.namespace).Get(ctx, "default", metav1.GetOptions{})
		if err == nil || ctx.Err() != nil {
			return err
		}
		<-ticker.C
	}
}

// apart returns the cluster with a namespace of the test's own.
func (c *cluster) apart(ctx context.Context, t testing.TB) *cluster {
	t.Helper()
	own := *c
	own.namespace = id(t)
	if err := own.makeNamespace(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.core.Namespaces().Delete(context.Background(), own.namespace, metav1.DeleteOptions{}) })
	return &own
}

// need returns the cluster that tests share. Without one the test is skipped, or fails where real components are required.
func need(t testing.TB) *cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	if err := openShared(); err != nil {
		if os.Getenv("WARDROOM_REQUIRE_REAL") != "" || shared != nil {
			t.Fatalf("there is no cluster: %v", err)
		}
		t.Skipf("there is no cluster: %v", err)
	}
	return shared
}

// settings are the plugin's for the cluster, with more on top.
func (c *cluster) settings(t testing.TB, more map[string]any) json.RawMessage {
	t.Helper()
	all := map[string]any{
		"kubeconfig": c.kubeconfig, "namespace": c.namespace, "image": c.image, "pull": "never", "limits": map[string]any{"memory": "96m", "cpu": 0.5},
		"requests": map[string]any{"memory": "32m", "cpu": 0.01}, "stopGrace": "2s",
	}
	for name, value := range more {
		all[name] = value
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// open makes a launcher over a directory; agents outlive it, and end with the test.
func (c *cluster) open(t testing.TB, state string, more map[string]any) *kubernetes.Launcher {
	t.Helper()
	config, err := kubernetes.Decode(c.settings(t, more), state)
	if err != nil {
		t.Fatal(err)
	}
	l, err := kubernetes.Open(kubernetes.Options{Config: config, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// plugin starts the binary as the appliance does.
func (c *cluster) plugin(t testing.TB, more map[string]any) *plugintest.Plugin {
	t.Helper()
	return plugintest.Start(t, plugintest.Options{Path: filepath.Join(dir, "runtime-kubernetes"), Config: c.settings(t, more)})
}

// claim makes a claim over a directory of the node, which is this machine, and returns its name.
func (c *cluster) claim(t testing.TB) string {
	t.Helper()
	at, err := os.MkdirTemp("/var/tmp", "claim") // not in /tmp, which pods have of their own
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(at, 0o777); err != nil {
		t.Fatal(err)
	}
	name := id(t)
	size := resourceList("64Mi")
	none := ""
	volume, err := c.core.PersistentVolumes().Create(t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: at}},
			ClaimRef:               &corev1.ObjectReference{Namespace: c.namespace, Name: name},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.core.PersistentVolumeClaims(c.namespace).Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &none, VolumeName: volume.Name, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.core.PersistentVolumeClaims(c.namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
		_ = c.core.PersistentVolumes().Delete(context.Background(), name, metav1.DeleteOptions{})
		_ = os.RemoveAll(at)
	})
	return name
}

// pods returns those of an agent, whatever their state.
func (c *cluster) pods(ctx context.Context, t testing.TB, agent string) []corev1.Pod {
	t.Helper()
	list, err := c.core.Pods(c.namespace).List(ctx, metav1.ListOptions{LabelSelector: kubernetes.LabelAgent + "=" + agent})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// within bounds a test.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// id makes an id of an agent that no other test has, which can be a label.
func id(t testing.TB) string {
	name := strings.ToLower(strings.NewReplacer("/", "-", "#", "-", "_", "-").Replace(t.Name()))
	return name[:min(len(name), 40)] + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
}

// shell is an agent that the suite can talk to: its prompt ends a turn.
func shell(id string) runtime.Spec {
	return runtime.Spec{ID: id, Type: "shell", Declared: &runtime.DeclaredType{
		Command: "sh", Env: map[string]string{"PS1": "$ "}, Exit: "exit",
		Ready: runtime.ReadyRule{Pattern: `^\$ ?$`}, Idle: runtime.Duration(time.Second),
	}}
}

package kubernetes

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Paths in a pod.
const (
	runDir     = "/run/wardroom"
	socketPath = runDir + "/s"
	exitPath   = runDir + "/exit"
	logPath    = runDir + "/log"
	workDir    = "/workspace"
	tempDir    = "/tmp"
)

// runBytes bounds what holders keep in runDir, which is in memory.
const runBytes = 16 << 20

// wish describes the agent that a pod is made for.
type wish struct {
	spec  *runtime.Spec
	image string
	git   agentcli.Git // of the work directory, where the service sees it
	// readOnly has the agent not write in its work directory.
	readOnly bool
}

// podOf plans the pod of an agent: it may do nothing that an agent does not need. INVALID_SPEC, WORKDIR_NOT_ALLOWED.
func (l *Launcher) podOf(w wish) (*corev1.Pod, error) {
	c, spec := &l.config, w.spec
	limits, err := l.limits(spec)
	if err != nil {
		return nil, err
	}
	volumes, mounts, err := l.volumes(w)
	if err != nil {
		return nil, err
	}
	yes, no, user := true, false, c.User
	grace := int64(duration(c.StopGrace, defaultStopGrace).Seconds())
	keep := strconv.Itoa(int(duration(c.KeepPods, defaultKeep).Seconds()))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{
				labelOwner: l.owner, labelInstallation: labelValue(spec.Installation), labelAgent: labelValue(spec.ID), labelType: labelValue(spec.Type),
				"app.kubernetes.io/name": "wardroom-agent", "app.kubernetes.io/managed-by": "wardroom",
			},
			Annotations: map[string]string{annotationAgent: spec.ID, annotationName: spec.Name, annotationVersion: l.version},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: c.ServiceAccount, AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
			NodeSelector: c.NodeSelector, PriorityClassName: c.PriorityClass, TerminationGracePeriodSeconds: &grace, Volumes: volumes,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user, FSGroup: &user,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: containerName, Image: w.image, ImagePullPolicy: corev1.PullPolicy(c.Pull), Command: []string{c.Holder, "room", keep, exitPath},
				WorkingDir: "/", VolumeMounts: mounts,
				TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
				Resources: resources(limits, c.Requests),
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, RunAsNonRoot: &yes,
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
	one := &pod.Spec.Containers[0]
	for _, name := range c.PullSecrets {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	for _, t := range c.Tolerations {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value, Effect: corev1.TaintEffect(t.Effect),
		})
	}
	for _, name := range c.Secrets {
		one.EnvFrom = append(one.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		one.Env = append(one.Env, corev1.EnvVar{Name: name, Value: c.Env[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(c.SecretEnv)) {
		ref := c.SecretEnv[name]
		one.Env = append(one.Env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: ref.Name}, Key: ref.Key},
		}})
	}
	return pod, nil
}

// planOf is the digest of a planned pod: one that was made from the same plan can be used again.
func planOf(pod *corev1.Pod) (string, error) {
	data, err := json.Marshal(pod)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), err
}

// limits are those of a spec, and the runtime's own for what it does not say. INVALID_SPEC.
func (l *Launcher) limits(spec *runtime.Spec) (runtime.Limits, error) {
	limits := spec.Limits
	limits.MemoryBytes = cmp.Or(limits.MemoryBytes, l.config.Limits.memoryBytes)
	limits.CPU = cmp.Or(limits.CPU, l.config.Limits.CPU)
	switch {
	case limits.PIDs != 0:
		return limits, runtime.Invalid("limits.pids", "a pod has no limit of its own for processes; the kubelet has one (podPidsLimit)")
	case limits.MemoryBytes < leastMemory:
		return limits, runtime.Invalid("limits.memoryBytes", "is less than the %d MiB that an agent needs to start", leastMemory>>20)
	case limits.CPU < 0.01:
		return limits, runtime.Invalid("limits.cpu", "is less than 0.01 cores")
	}
	return limits, nil
}

// resources are the limits of a container, and what it asks the scheduler for: as much, unless less is configured.
func resources(limits runtime.Limits, asked Limits) corev1.ResourceRequirements {
	list := func(memory int64, cpu float64) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI), corev1.ResourceCPU: *resource.NewMilliQuantity(int64(cpu*1000), resource.DecimalSI),
		}
	}
	memory, cpu := limits.MemoryBytes, limits.CPU
	if asked.memoryBytes > 0 {
		memory = min(memory, asked.memoryBytes)
	}
	if asked.CPU > 0 {
		cpu = min(cpu, asked.CPU)
	}
	return corev1.ResourceRequirements{Limits: list(limits.MemoryBytes, limits.CPU), Requests: list(memory, cpu)}
}

// volumes are the volumes of a pod, and where they are mounted. INVALID_SPEC, WORKDIR_NOT_ALLOWED.
func (l *Launcher) volumes(w wish) ([]corev1.Volume, []corev1.VolumeMount, error) {
	c := &l.config
	empty := func(name string, bytes int64, medium corev1.StorageMedium) corev1.Volume {
		v := corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium}}}
		if bytes > 0 {
			v.EmptyDir.SizeLimit = resource.NewQuantity(bytes, resource.BinarySI)
		}
		return v
	}
	volumes := []corev1.Volume{empty("run", runBytes, corev1.StorageMediumMemory), empty("temp", c.TempBytes, "")}
	mounts := []corev1.VolumeMount{{Name: "run", MountPath: runDir}, {Name: "temp", MountPath: tempDir}}
	if c.HomeClaim != "" {
		volumes = append(volumes, corev1.Volume{Name: "home", VolumeSource: claimed(c.HomeClaim)})
		mounts = append(mounts,
			corev1.VolumeMount{Name: "home", MountPath: c.HomeDir, SubPath: path.Join(homes, w.spec.ID, "home")},
			corev1.VolumeMount{Name: "home", MountPath: workDir, SubPath: path.Join(homes, w.spec.ID, "work"), ReadOnly: w.readOnly})
	} else {
		volumes = append(volumes, empty("home", 0, ""), empty("work", 0, ""))
		mounts = append(mounts, corev1.VolumeMount{Name: "home", MountPath: c.HomeDir}, corev1.VolumeMount{Name: "work", MountPath: workDir, ReadOnly: w.readOnly})
	}
	used := map[string]string{} // path of the configuration to the name of a volume
	add := func(from, to string, write bool) error {
		root := c.mountOf(from)
		if root == "" {
			return fmt.Errorf("%s is below none of the paths that agents may have", from)
		}
		m := c.Mounts[root]
		if write && m.Mode != modeWrite {
			return fmt.Errorf("%s is read-only for agents", from)
		}
		name := used[root]
		if name == "" {
			name = "mount-" + strconv.Itoa(len(used))
			used[root] = name
			source := claimed(m.Claim)
			if m.Node {
				kind := corev1.HostPathDirectory
				source = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: root, Type: &kind}}
			}
			volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: source})
		}
		rest, _ := filepath.Rel(root, from)
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: to, SubPath: subPath(m.SubPath, rest), ReadOnly: !write})
		return nil
	}
	if dir := w.spec.Workdir; dir != "" {
		write := !w.readOnly
		if root := c.mountOf(dir); root != "" {
			write = write && c.Mounts[root].Mode == modeWrite
		}
		if err := add(dir, dir, write); err != nil {
			return nil, nil, &runtime.Error{
				Code: runtime.CodeWorkdirNotAllowed, Field: "workdir", Message: err.Error(), Hint: "add it to mounts in the runtime's configuration",
			}
		}
		if g := w.git; g.Linked() {
			// Hooks and configuration, which git of others runs and obeys, stay read-only.
			for _, one := range []struct {
				at    string
				write bool
			}{{g.Common, false}, {g.Dir, true}, {g.Common + "/objects", true}, {g.Common + "/refs", true}, {g.Common + "/logs", true}} {
				if err := add(one.at, one.at, one.write && write); err != nil {
					return nil, nil, &runtime.Error{
						Code: runtime.CodeWorkdirNotAllowed, Field: "workdir", Message: "its repository: " + err.Error(), Hint: "add it to mounts in the runtime's configuration",
					}
				}
			}
		}
	}
	for i, text := range w.spec.Volumes {
		from, to, write, err := c.parseVolume(text)
		if err == nil && slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool { return within(m.MountPath, to) || m.MountPath == to }) {
			err = fmt.Errorf("%s holds what is mounted already", to)
		}
		if err == nil {
			err = l.foreign(from)
		}
		if err == nil {
			err = add(from, to, write)
		}
		if err != nil {
			return nil, nil, &runtime.Error{
				Code: runtime.CodeInvalidSpec, Field: fmt.Sprintf("volumes[%d]", i), Message: err.Error(),
				Hint: "write it as PATH:POD_PATH:MODE, with ro or rw for MODE, and a path of mounts in the runtime's configuration",
			}
		}
	}
	return volumes, mounts, nil
}

// foreign refuses a volume of what belongs to the service: of its state, and of the workspaces of threads, which it lets in only whom
// their patterns do.
func (l *Launcher) foreign(from string) error {
	real := local.RealPath(from)
	for _, own := range slices.Concat(l.rooms.Own, l.rooms.Private) {
		if own = local.RealPath(own); within(real, own) || within(own, real) {
			return fmt.Errorf("%s holds, or belongs to, the state of the service or the workspaces of threads", from)
		}
	}
	return nil
}

// Modes of a mount.
const (
	modeRead  = "ro"
	modeWrite = "rw"
)

// parseVolume reads PATH:POD_PATH:MODE.
func (c *Config) parseVolume(text string) (from, to string, write bool, err error) {
	parts := strings.Split(text, ":")
	if len(parts) == 2 {
		parts = append(parts, modeRead)
	}
	if len(parts) != 3 || parts[2] != modeRead && parts[2] != modeWrite {
		return "", "", false, fmt.Errorf("%q is not a volume with the mode ro or rw", text)
	}
	for _, p := range parts[:2] {
		if !path.IsAbs(p) || path.Clean(p) != p || p == "/" || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", "", false, fmt.Errorf("%q is not the absolute path of a directory below /, without .. in it", p)
		}
	}
	if why := c.reserved(parts[1]); why != "" {
		return "", "", false, fmt.Errorf("%s cannot be mounted on: %s", parts[1], why)
	}
	return parts[0], parts[1], parts[2] == modeWrite, nil
}

// mountOf returns the path of the configuration's mounts that a clean path is at or below, the deepest; empty for none.
func (c *Config) mountOf(at string) string {
	best := ""
	for root := range c.Mounts {
		if path.Clean(at) == at && within(at, root) && len(root) > len(best) {
			best = root
		}
	}
	return best
}

func claimed(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

func subPath(parts ...string) string {
	if joined := path.Join(parts...); joined != "." {
		return joined
	}
	return ""
}

// How long the watch may tell nothing of a pod that is being started before the API server is asked: at first, and at the most. It
// doubles with each question, as hundreds of pods may wait for a place.
const (
	lookTime = 3 * time.Second
	mostLook = 30 * time.Second
)

// create makes a pod and returns it when its container runs. IMAGE_NOT_FOUND, NETWORK_ERROR, RESOURCE_LIMIT, SPAWN_FAILED, UNAVAILABLE; then
// nothing of it is left.
func (l *Launcher) create(ctx context.Context, id string, plan *corev1.Pod) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, duration(l.config.StartTimeout, defaultStart))
	defer cancel()
	if err := l.furnish(ctx); err != nil {
		return nil, err
	}
	plan.Name = podName(id, rand.Text())
	plan.OwnerReferences = l.ownerReference()
	var told string // the version of the pod that the watch told last
	var pull string // why its image could not be pulled, as far as that was seen
	looked, pause := time.Now(), lookTime
	var away error // why the API server could not be asked the last time
	changed := l.watcher.change()
	pod, err := l.post(ctx, "make the pod of agent "+id, plan)
	if err != nil {
		return nil, err
	}
	for {
		pod = recall(pod, &pull)
		ready, err := judge(pod)
		if ready {
			return pod, nil
		}
		if err == nil && pod.DeletionTimestamp != nil { // its node may not let go of it for long: a pull may hang
			err = withdrawn(pod, takenAway(pod))
		}
		if err == nil && ctx.Err() != nil {
			if err = away; err == nil {
				err = late(pod)
			}
		}
		if err != nil {
			l.discard(ctx, pod)
			return nil, err
		}
		wait(ctx, changed, time.Second)
		changed = l.watcher.change()
		if known, ok, _ := l.watcher.store.GetByKey(l.cluster.namespace + "/" + pod.Name); ok {
			if seen, is := known.(*corev1.Pod); is && seen.UID == pod.UID && seen.ResourceVersion != told {
				told, looked, pause, pod, away = seen.ResourceVersion, time.Now(), lookTime, seen, nil
				continue
			} else if is && seen.UID == pod.UID {
				if time.Since(looked) < pause {
					continue
				}
				pause = min(2*pause, mostLook)
			}
		}
		// It is not seen yet, or is gone, or nothing was told of it for a while; the watch may be behind, or not allowed.
		looked = time.Now()
		switch now, err := l.cluster.get(ctx, pod.Name); {
		case err != nil && runtime.ErrorCode(err) != runtime.CodeUnavailable && ctx.Err() == nil:
			l.discard(ctx, pod)
			return nil, err
		case err == nil && now == nil:
			return nil, withdrawn(pod, cmp.Or(l.watcher.removal(string(pod.UID)), takenAway(pod)))
		case err == nil:
			pod, away = now, nil
		case ctx.Err() == nil || time.Since(looked) > time.Second: // else the time of the start ended meanwhile
			away, pause = err, lookTime // it is asked again soon: what was the matter may be over
		}
	}
}

// post has the API server make a pod, whose name no other has. Of one that it may have made without a word, as when it was lost meanwhile,
// nothing is left. What is the matter with a quota that changes is over at once, and the API server asks for another try then. The
// errors are those of cluster.failed.
func (l *Launcher) post(ctx context.Context, what string, plan *corev1.Pod) (pod *corev1.Pod, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		pod, err = l.cluster.pods().Create(ctx, plan, metav1.CreateOptions{FieldManager: fieldManager})
		return err
	})
	if err == nil {
		return pod, nil
	}
	mine := apierrors.IsAlreadyExists(err) // by a try before, after which the client was told to try again
	err = l.cluster.failed(what, err)
	if code := runtime.ErrorCode(err); mine || code != runtime.CodeSpawnFailed && code != runtime.CodeResourceLimit {
		l.discard(ctx, plan)
	}
	return nil, err
}

// discard removes a pod that is of no use. What does not go is the sweeper's.
func (l *Launcher) discard(ctx context.Context, pod *corev1.Pod) {
	if err := l.cluster.remove(context.WithoutCancel(ctx), pod.Name, string(pod.UID)); err != nil {
		l.log.Warn("a pod that did not start cannot be removed yet", "pod", pod.Name, "error", err)
	}
}

// imageOf is the digest of the image that a pod runs; empty if its node has not said.
func imageOf(pod *corev1.Pod) string {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == containerName {
			return s.ImageID
		}
	}
	return ""
}

// judge reports whether the container of a pod runs, or why it never will.
func judge(pod *corev1.Pod) (ready bool, err error) {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name != containerName {
			continue
		}
		switch {
		case s.State.Running != nil:
			return pod.DeletionTimestamp == nil, nil
		case s.State.Terminated != nil:
			return false, died(pod, s.State.Terminated)
		case s.State.Waiting != nil:
			if err := waits(s.Image, s.State.Waiting); err != nil {
				return false, err
			}
		}
	}
	if over(pod) {
		return false, died(pod, nil)
	}
	return false, nil
}

// Reasons of a container that waits for its image.
const (
	errPull      = "ErrImagePull"
	registryAway = "RegistryUnavailable" // the node's container engine did not reach the registry
	backOff      = "ImagePullBackOff"    // the next try is a while away
)

// recall notes why the image of a pod could not be pulled, and adds it to a back-off that does not say, as those of older kubelets do
// not.
func recall(pod *corev1.Pod, why *string) *corev1.Pod {
	for i, s := range pod.Status.ContainerStatuses {
		w := s.State.Waiting
		if s.Name != containerName || w == nil {
			continue
		}
		switch {
		case w.Reason == errPull || w.Reason == registryAway:
			*why = w.Reason + ": " + w.Message
		case w.Reason == backOff && *why != "" && !strings.Contains(w.Message, errPull) && !strings.Contains(w.Message, registryAway):
			pod = pod.DeepCopy() // it is the watch's
			pod.Status.ContainerStatuses[i].State.Waiting.Message = strings.TrimSpace(w.Message + ": " + *why)
		}
	}
	return pod
}

// waits says why a container that waits will not start; nil if it may.
func waits(image string, w *corev1.ContainerStateWaiting) error {
	switch w.Reason {
	case backOff:
		why := w.Message
		if runtime.DiskFull(why) {
			return &runtime.Error{
				Code: runtime.CodeResourceLimit, Message: fmt.Sprintf("the image %s cannot be pulled: the disk of the node is full: %s", image, said(errors.New(why))), Retry: true,
				Hint: "make room on the node; kubectl describe pod names it while it pulls",
			}
		}
		if runtime.RegistryUnreached(why) || strings.Contains(why, registryAway) {
			return &runtime.Error{
				Code: runtime.CodeNetworkError, Field: "image", Retry: true,
				Message: fmt.Sprintf("the image %s cannot be pulled: its registry is not reached or does not answer: %s: %s", image, w.Reason, said(errors.New(why))),
				Hint:    "look whether the registry runs and the nodes reach it, or load the image on the nodes",
			}
		}
		fallthrough
	case "ErrImageNeverPull", "InvalidImageName", "ImageInspectError":
		return &runtime.Error{
			Code: runtime.CodeImageNotFound, Field: "image", Message: fmt.Sprintf("the image %s is not there: %s: %s", image, w.Reason, said(errors.New(w.Message))),
			Hint: "look whether the registry has it and the nodes may pull it (pull, pullSecrets), or load it on the nodes",
		}
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError":
		if passes(w.Message) {
			return nil
		}
		return &runtime.Error{
			Code: runtime.CodeSpawnFailed, Message: fmt.Sprintf("the container does not start: %s: %s", w.Reason, said(errors.New(w.Message))),
			Hint: "images need the holder (see holder in the runtime's configuration), and secrets have to be in the namespace",
		}
	}
	return nil
}

// passes reports whether what kept a node from starting a container is over by itself: its kubelet had not read the secrets
// and configs of a new pod yet, or its container engine was slow. The kubelet tries these again; late has the words of one that lasts.
func passes(message string) bool {
	return slices.ContainsFunc([]string{
		"timed out waiting for the condition", // failed to sync secret cache: pkg/kubelet/util/manager of Kubernetes
		"context deadline exceeded",
		"failed to reserve container name", // the engine is still at the first try
	}, func(words string) bool { return strings.Contains(message, words) })
}

// died says why a pod ended before an agent was started in it.
func died(pod *corev1.Pod, t *corev1.ContainerStateTerminated) error {
	if t != nil && t.Reason == "OOMKilled" {
		return &runtime.Error{
			Code: runtime.CodeResourceLimit, Field: "limits.memoryBytes", Message: "the pod ran out of memory before its command started", Hint: "give the agent more memory",
		}
	}
	why := strings.TrimSpace(pod.Status.Reason + " " + pod.Status.Message)
	if t != nil {
		why = strings.TrimSpace(fmt.Sprintf("%s %s %s (exit code %d)", why, t.Reason, t.Message, t.ExitCode))
	}
	if pod.Status.Reason == "Evicted" || strings.HasPrefix(pod.Status.Reason, "OutOf") {
		return notKept(why)
	}
	if disrupted(pod) { // an eviction or a preemption stands in a condition alone
		return notKept(strings.TrimSpace(takenAway(pod) + " " + why))
	}
	return &runtime.Error{
		Code: runtime.CodeSpawnFailed, Message: "the pod ended before its command started: " + why,
		Hint: "images need the holder: see holder in the runtime's configuration",
	}
}

// takenAway returns why the cluster ended a pod that was evicted or preempted, or whose node was shut down or drained; "" for any other.
func takenAway(pod *corev1.Pod) string {
	reason, message := pod.Status.Reason, pod.Status.Message
	if i := slices.IndexFunc(pod.Status.Conditions, isDisruption); reason == "" && i >= 0 {
		reason, message = pod.Status.Conditions[i].Reason, pod.Status.Conditions[i].Message
	}
	if reason == "" {
		return ""
	}
	return strings.TrimSuffix(reason+": "+said(errors.New(message)), ": ")
}

// disrupted reports whether the cluster takes a pod away.
func disrupted(pod *corev1.Pod) bool { return slices.ContainsFunc(pod.Status.Conditions, isDisruption) }

func isDisruption(c corev1.PodCondition) bool {
	return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
}

// notKept is the error of a pod that the cluster took away before an agent was started in it.
func notKept(why string) error {
	return &runtime.Error{Code: runtime.CodeResourceLimit, Message: "the pod was not kept: " + why, Retry: true, Hint: "make room in the cluster, or ask for less"}
}

// withdrawn is the error of a pod that was removed before an agent was started in it, by the cluster where that has a reason.
func withdrawn(pod *corev1.Pod, why string) error {
	if why != "" {
		return notKept(why)
	}
	return runtime.Errorf(runtime.CodeSpawnFailed, "the pod %s was removed before it ran", pod.Name)
}

// late says what a pod waits for that did not start in time.
func late(pod *corev1.Pod) error {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return &runtime.Error{
				Code: runtime.CodeResourceLimit, Message: "no node takes the pod: " + c.Message, Retry: true,
				Hint: "make room in the cluster, ask for less, or look at nodeSelector and tolerations",
			}
		}
	}
	why := "it is " + strings.ToLower(string(pod.Status.Phase))
	for _, s := range pod.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil {
			if w.Reason == errPull || w.Reason == registryAway {
				return waits(s.Image, &corev1.ContainerStateWaiting{Reason: backOff, Message: w.Reason + ": " + w.Message})
			}
			why = strings.TrimSpace(w.Reason + " " + w.Message)
		}
	}
	return &runtime.Error{
		Code: runtime.CodeSpawnFailed, Message: "the pod does not start in time: " + why, Retry: true,
		Hint: "kubectl describe pod tells more; startTimeout in the runtime's configuration is how long it is waited for",
	}
}

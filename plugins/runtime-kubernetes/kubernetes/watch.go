package kubernetes

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// watcher knows the pods of one state directory. What it knows is a hint: before anything is ended, the API server is asked.
// Safe for concurrent use.
type watcher struct {
	store cache.Store
	stop  context.CancelFunc
	done  chan struct{}
	ended func(pod *corev1.Pod) // is called for a pod that ended, is gone, or whose node has fallen silent

	mu      sync.Mutex // guards what follows
	changed chan struct{}
	err     error                   // why the last watch ended, until another one works
	removed [][2]string             // UIDs of pods that the cluster took away, each with why, the last of them last
	seen    map[types.UID]time.Time // when each pod that is there was seen first, by the clock of this machine
}

// maxRemoved bounds of how many pods that are gone it is known why: a drain of a node ends as many at a time as that has, 110 by default.
const maxRemoved = 256

// watchPods follows the pods that a selector names until close. A watch that the API server ends, or whose place in its
// history is gone, is begun anew with a list: what happened meanwhile is seen by what is there then.
func watchPods(k *cluster, selector string, ended func(pod *corev1.Pod)) *watcher {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{stop: cancel, done: make(chan struct{}), ended: ended, changed: make(chan struct{})}
	pods := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = selector
			list, err := k.pods().List(ctx, o)
			w.note(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = selector
			stream, err := watchLimited(ctx, k, o, watchSlack)
			w.note(err)
			return stream, err
		},
	}
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: pods, ObjectType: &corev1.Pod{}, Transform: shorten,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(o any) { w.see(nil, o, false) }, UpdateFunc: func(old, o any) { w.see(old, o, false) }, DeleteFunc: func(o any) { w.see(nil, o, true) },
		},
	})
	w.store = store
	go func() {
		defer close(w.done)
		controller.RunWithContext(ctx)
	}()
	return w
}

// watchSlack is how long a watch may outlast the time that was asked for.
const watchSlack = callTime

// watchLimited begins a watch that ends with slack behind the time that is asked for, whether the server ends it or not: a proxy may hold a stream
// open whose server is gone, which would be silent for ever.
func watchLimited(ctx context.Context, k *cluster, o metav1.ListOptions, slack time.Duration) (watch.Interface, error) {
	if o.TimeoutSeconds == nil {
		return k.pods().Watch(ctx, o)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(*o.TimeoutSeconds)*time.Second+slack)
	stream, err := k.pods().Watch(ctx, o)
	if err != nil {
		cancel()
		return nil, err
	}
	return &limitedWatch{stream, cancel}, nil
}

// limitedWatch lets go of the timer of a watch with it.
type limitedWatch struct {
	watch.Interface
	cancel context.CancelFunc
}

// Stop implements watch.Interface.
func (l *limitedWatch) Stop() {
	l.cancel()
	l.Interface.Stop()
}

func (w *watcher) close() {
	w.stop()
	<-w.done
}

// shorten leaves of a pod what this runtime asks for.
func shorten(o any) (any, error) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, Labels: pod.Labels, Annotations: pod.Annotations, CreationTimestamp: pod.CreationTimestamp,
			DeletionTimestamp: pod.DeletionTimestamp, ResourceVersion: pod.ResourceVersion,
		},
		Status: corev1.PodStatus{
			Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message, Conditions: pod.Status.Conditions,
			ContainerStatuses: pod.Status.ContainerStatuses,
		},
	}, nil
}

// see takes a change in; old is nil for what is new.
func (w *watcher) see(old, o any, gone bool) {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok { // it went while the watch was interrupted
		o = last.Obj
	}
	pod, ok := o.(*corev1.Pod)
	w.mu.Lock()
	if ok && !gone {
		w.meet(pod.UID)
	}
	if ok && gone {
		delete(w.seen, pod.UID)
		if why := takenAway(pod); why != "" {
			w.removed = append(w.removed[max(0, len(w.removed)+1-maxRemoved):], [2]string{string(pod.UID), why})
		}
	}
	close(w.changed)
	w.changed = make(chan struct{})
	w.mu.Unlock()
	if !ok {
		return
	}
	before, known := old.(*corev1.Pod)
	if gone || over(pod) || silent(pod) && (!known || !silent(before)) {
		w.ended(pod)
	}
}

// meet notes when a pod is seen first. The caller holds mu.
func (w *watcher) meet(uid types.UID) {
	if w.seen == nil {
		w.seen = map[types.UID]time.Time{}
	}
	if _, known := w.seen[uid]; !known {
		w.seen[uid] = time.Now()
	}
}

// age returns for how long a pod has been there, at least: what the API server has of it is by another clock, which may be ahead.
func (w *watcher) age(pod *corev1.Pod) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	age := time.Since(pod.CreationTimestamp.Time)
	if first, known := w.seen[pod.UID]; known {
		age = max(age, time.Since(first))
	}
	return age
}

func (w *watcher) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

// failure is why nothing is seen at the moment; nil if that is not so.
func (w *watcher) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// next waits for a change of any pod, for at most the time most.
func (w *watcher) next(ctx context.Context, most time.Duration) {
	wait(ctx, w.change(), most)
}

// change returns what is closed with the next change of any pod. Who takes it before looking misses none.
func (w *watcher) change() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

func wait(ctx context.Context, changed <-chan struct{}, most time.Duration) {
	select {
	case <-changed:
	case <-time.After(most):
	case <-ctx.Done():
	}
}

// removal returns why a pod is gone, as far as the watch has seen it go.
func (w *watcher) removal(uid string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range w.removed {
		if pod[0] == uid {
			return pod[1]
		}
	}
	return ""
}

// all returns the pods that are known.
func (w *watcher) all() []*corev1.Pod {
	var list []*corev1.Pod
	for _, o := range w.store.List() {
		if pod, ok := o.(*corev1.Pod); ok {
			list = append(list, pod)
		}
	}
	return list
}

// silent reports whether the node of a pod that ran does not answer any more, as the cluster has noticed: it has the pod as not
// ready then. The node itself says that only of a pod with further containers, which an admission webhook has put there, and why.
func silent(pod *corev1.Pod) bool {
	if ready, _ := judge(pod); !ready {
		return false
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status != corev1.ConditionTrue && c.Reason != "ContainersNotReady" && c.Reason != "ReadinessGatesNotReady"
	})
}

// spent reports whether the container of a pod has ended. Others that an admission webhook has put beside it may run on; and of a pod
// that was evicted the cluster says so only later, with the end of all of it: see over.
func spent(pod *corev1.Pod) bool { return over(pod) || containerEnd(pod) != nil }

// containerEnd is how the container of a pod has ended; nil if that is not so, or not known.
func containerEnd(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == containerName {
			return s.State.Terminated
		}
	}
	return nil
}

// over reports whether nothing of a pod runs any more.
func over(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

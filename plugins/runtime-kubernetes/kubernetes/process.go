package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// killTime is how long the holder may take to end what it holds, before its pod is removed.
const killTime = 10 * time.Second

// process is an agent whose holder is connected.
type process struct {
	*holder.Client
	launcher *Launcher
	handle   handle
	asked    atomic.Bool // Kill was called
	killed   atomic.Bool // Kill removed the pod
}

var (
	_ agentcli.Process      = (*process)(nil)
	_ agentcli.Checkpointer = (*process)(nil)
	_ agentcli.HookSource   = (*process)(nil)
	_ agentcli.Meter        = (*process)(nil)
	_ agentcli.OutputHeader = (*process)(nil)
	_ agentcli.Backlogger   = (*process)(nil)
)

// Handle implements agentcli.Process.
func (p *process) Handle() []byte { return p.handle.encode() }

// Info implements agentcli.Process.
func (p *process) Info() agentcli.ProcessInfo { return p.handle.info() }

// Kill ends the agent, by its holder where that answers, and by the removal of its pod where it does not. A pod whose holder
// answered stays for a while: its files may be asked for, and it may get a next life.
func (p *process) Kill(ctx context.Context) error {
	p.asked.Store(true)
	limited, cancel := context.WithTimeout(ctx, killTime)
	err := p.Client.Kill(limited)
	cancel()
	if err == nil {
		p.launcher.overNow(p.handle)
		return nil
	}
	// A record that cannot be read says nothing, and then it counts which life this runtime knows to run.
	v, loadErr := p.launcher.load(p.handle.ID)
	if last := loadErr == nil && v.Handle.Nonce == p.handle.Nonce && !v.Over; !last && (loadErr == nil || !p.launcher.runs(p.handle)) {
		return nil // it is over, or another life has the pod
	}
	p.killed.Store(true)
	return p.launcher.end(ctx, p.handle)
}

// end removes a pod, and returns when it is gone.
func (l *Launcher) end(ctx context.Context, h handle) error {
	if err := l.cluster.remove(ctx, h.Pod, h.UID); err != nil {
		return err
	}
	for ctx.Err() == nil {
		pod, err := l.cluster.get(ctx, h.Pod)
		if err != nil {
			return err
		}
		if pod == nil || string(pod.UID) != h.UID || spent(pod) {
			return nil
		}
		l.watcher.next(ctx, time.Second)
	}
	return runtime.Errorf(runtime.CodeTimeout, "the pod %s is still being removed", h.Pod)
}

// Wait returns how the command ended.
func (p *process) Wait(ctx context.Context) (runtime.Exit, error) {
	exit, err := p.Client.Wait(ctx)
	if err != nil {
		return exit, err
	}
	if exit.Reason == "" && exit.Code == 128+9 {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		if usage, err := p.Usage(ctx); err == nil && usage.OutOfMemory {
			exit.Reason = runtime.ReasonOutOfMemory
		}
	}
	if exit.Reason == runtime.ReasonKilled && !p.asked.Load() {
		if why := p.launcher.taken(ctx, p.handle); why != "" {
			exit.Reason = runtime.ReasonLost + ": " + why
		}
	}
	p.launcher.overNow(p.handle)
	return exit, nil
}

// takenTime is how long a cluster may take to say why it had a pod end. A kubelet that evicts one says so once all of it has ended.
const takenTime = 10 * time.Second

// taken returns why the pod of a life was taken away whose holder was made to end by something else than this runtime; "" where that is
// not so, or not known.
func (l *Launcher) taken(ctx context.Context, h handle) string {
	ctx, cancel := context.WithTimeout(ctx, takenTime)
	defer cancel()
	key := l.cluster.namespace + "/" + h.Pod
	var known bool // to the watch
	var looked time.Time
	for pause := time.Duration(0); ctx.Err() == nil; {
		changed := l.watcher.change()
		was := known
		var pod *corev1.Pod
		if o, there, _ := l.watcher.store.GetByKey(key); there {
			pod, _ = o.(*corev1.Pod)
		}
		known = pod != nil && string(pod.UID) == h.UID
		// The API server is asked at first, as the watch may be behind, and then where the watch has nothing to tell for a while: a
		// drain ends hundreds of pods at a time, and each change of one wakes all that wait here.
		if was && !known || time.Since(looked) >= pause {
			looked, pause = time.Now(), max(time.Second, 2*pause)
			var err error
			if pod, err = l.cluster.get(ctx, h.Pod); err != nil {
				return ""
			}
			if pod == nil || string(pod.UID) != h.UID {
				return l.removal(h)
			}
		}
		if pod != nil && string(pod.UID) == h.UID {
			switch why := takenAway(pod); {
			case why != "":
				return why
			case pod.DeletionTimestamp != nil:
				return "its pod was removed"
			case over(pod):
				return ""
			}
		}
		wait(ctx, changed, max(pause-time.Since(looked), 0))
	}
	return ""
}

// removal is why the pod of a life is gone which this runtime has not removed.
func (l *Launcher) removal(h handle) string {
	return cmp.Or(l.watcher.removal(h.UID), "its pod was removed")
}

// gone is asked when the holder was lost before it reported an end.
func (p *process) gone(ctx context.Context) (runtime.Exit, error) {
	exit, err := p.launcher.ended(ctx, p.handle, false)
	switch {
	case p.killed.Load() && errors.Is(err, agentcli.ErrGone):
		return runtime.Exit{Code: 128 + 9, Reason: runtime.ReasonKilled}, nil
	case errors.Is(err, errRemoved) && !p.asked.Load():
		return runtime.Exit{Code: 128 + 9, Reason: runtime.ReasonLost + ": " + p.launcher.removal(p.handle)}, nil
	}
	return exit, err
}

// cut ends the connection, and nothing else.
func (p *process) cut() { _ = p.Client.Cut() }

// Close implements agentcli.Process.
func (p *process) Close() error {
	err := p.Client.Close()
	l := p.launcher
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.DeleteFunc(l.processes[p.handle.Pod], func(one *process) bool { return one == p })
	if len(list) == 0 {
		delete(l.processes, p.handle.Pod)
	} else {
		l.processes[p.handle.Pod] = list
	}
	return err
}

// Usage implements agentcli.Meter: the figures are those of the pod's own control groups.
func (p *process) Usage(ctx context.Context) (agentcli.Usage, error) {
	return p.launcher.room(p.handle.Pod).Usage(ctx)
}

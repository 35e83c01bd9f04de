package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/wardroom/wardroom/scripts/fakemodel"
	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// hiredTask is the task of the spawned team. The model of the demo understands the words in brackets: each agent
// uses its shell, for which claude asks leave, and then says the same.
const hiredTask = `{"task":"a clock without hands: USE_TOOL[touch made-with-leave] SAY[Approved. Said by a fake model.]"}`

// hire runs a built-in org chart on command lines that are spawned for it, at a server of its own whose runtime gives
// them the model. A person gives each leave that is asked for, and in the end none of them is left.
func (d *demo) hire(ctx context.Context) (err error) {
	if !slices.ContainsFunc(d.tools, func(t tool) bool { return t.approve != nil }) {
		return nil // no command line is installed, which drive has said
	}
	d.title("A team of command lines: the server spawns them for %s, and they ask for leave as a team does", split)
	model := fakemodel.New(fakemodel.Options{})
	if err := model.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	own, err := d.office(model.URL())
	if err != nil {
		return err
	}
	defer own.server.Client.Close()
	defer func() { err = errors.Join(err, own.stop()) }()
	if err := own.startServer(ctx); err != nil {
		return err
	}
	defer own.dismiss()
	if err := own.begin(ctx, split, hiredTask); err != nil {
		return err
	}
	c := own.charts[0]
	d.hired, err = own.grant(ctx, c)
	if err != nil {
		return err
	}
	d.say("")
	if err := own.wardroom(ctx, "execution", "timeline", c.id); err != nil {
		return err
	}
	return own.nobodyLeft(ctx)
}

// office is a server whose spawned agents ask a model at a URL.
func (d *demo) office(model string) (*demo, error) {
	env := map[string]string{}
	for _, t := range d.tools {
		maps.Copy(env, fakemodel.Env(t.name, model))
	}
	quoted, err := json.Marshal(env) // a flow mapping in YAML as well
	if err != nil {
		return nil, err
	}
	runtime, err := testbed.LocalRuntime(d.opts.wardroom, fmt.Sprintf(", config: {env: %s}", quoted))
	if err != nil {
		return nil, err
	}
	dir := d.path("office")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	own := &demo{opts: d.opts, out: d.out}
	own.server, err = testbed.NewServer(d.opts.wardroom, dir, "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nengine: {roleBinding: managed}\n"+runtime)
	if err != nil {
		return nil, err
	}
	own.kept()
	return own, nil
}

// grant gives leave whenever it is asked for, as a person does, until the execution is over. It returns how many
// agents were spawned.
func (d *demo) grant(ctx context.Context, c *chart) (spawned int, err error) {
	given := 0
	err = testbed.Until(ctx, 2*turnLimit, split+" ends", func(ctx context.Context) (bool, error) {
		open, err := d.server.Client.ListQuestions(ctx, client.QuestionFilter{ExecutionID: c.id, Status: client.QuestionOpen})
		if err != nil {
			return false, err
		}
		for _, q := range open.Questions {
			d.say("%s asks for leave: %s", q.Role, excerpt(strings.Join(strings.Fields(q.Text), " "), 90))
			if err := d.wardroom(ctx, "question", "answer", q.ID, "--choice", "allow"); err != nil {
				return false, err
			}
			given++
		}
		if c.exec, err = d.server.Client.GetExecution(ctx, c.id); err != nil {
			return false, err
		}
		return client.Terminal(c.exec.Status), nil
	})
	if err != nil {
		return 0, err
	}
	var result struct{ Approved bool }
	if c.exec.Status != client.StatusCompleted || json.Unmarshal(c.exec.Result, &result) != nil || !result.Approved {
		return 0, fmt.Errorf("%s is %s and was to be approved: %s", split, c.exec.Status, c.exec.Body)
	}
	list, err := d.server.Client.ListManagedAgents(ctx, client.ManagedAgentFilter{})
	if err != nil {
		return 0, err
	}
	if given == 0 && slices.ContainsFunc(list.Agents, func(a client.ManagedAgent) bool { return a.Type == "claude" }) {
		return 0, errors.New("claude never asked for leave")
	}
	return len(list.Agents), nil
}

// nobodyLeft waits until every spawned agent has ended.
func (d *demo) nobodyLeft(ctx context.Context) error {
	var names []string
	err := d.until(ctx, "the spawned agents are gone", func(ctx context.Context) (bool, error) {
		list, err := d.server.Client.ListManagedAgents(ctx, client.ManagedAgentFilter{})
		if err != nil {
			return false, err
		}
		names = nil
		for _, a := range list.Agents {
			if a.PID > 0 && !errors.Is(syscall.Kill(a.PID, 0), syscall.ESRCH) {
				return false, nil
			}
			names = append(names, a.Type+" as "+a.Name)
		}
		return true, nil
	})
	if err == nil {
		d.say("\nspawned for it, and gone with it: %s", strings.Join(names, ", "))
	}
	return err
}

// dismiss ends spawned agents of a demo that went wrong: they would outlive everything else.
func (d *demo) dismiss() {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	list, err := d.server.Client.ListManagedAgents(ctx, client.ManagedAgentFilter{})
	if err != nil {
		return
	}
	for _, a := range list.Agents {
		if a.StoppedAt == nil {
			_ = d.server.Client.StopManagedAgent(ctx, a.ID, true, 0) // the process that holds it ends what is left
		}
	}
}

package pluginhost

import (
	"context"
	"errors"
	"io"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// opened is a stream together with the instance that it comes from.
type opened[T any] struct {
	stream T
	from   *instance
	ctx    context.Context // of the caller
	name   string
}

// open makes a call that opens a stream.
func open[T any](ctx context.Context, r *runtimeOf, method string, fn func(runtime.Runtime) (T, error)) (opened[T], error) {
	var from *instance
	stream, err := call(ctx, r.target, runtimeKind, method, true, func(c *plugin.Conn) (T, error) {
		from = nil
		if child := r.host.child(r.name); child != nil {
			if i := child.instance(); i != nil && i.conn == c {
				from = i
			}
		}
		return fn(c.Runtime())
	})
	return opened[T]{stream, from, ctx, r.name}, err
}

// end turns the error of a stream that ended with its plugin into UNAVAILABLE.
func (o *opened[T]) end(err error) error {
	if err == nil || errors.Is(err, io.EOF) || o.from == nil {
		return err
	}
	if !lost(o.ctx, o.from, string(runtime.ErrorCode(err))) {
		return err
	}
	return runtimeKind.down(&unavailable{reason: "the plugin " + o.name + " ended", during: true})
}

// Attach implements runtime.Runtime.
func (r *runtimeOf) Attach(ctx context.Context, id string, opts runtime.AttachOptions) (runtime.Terminal, error) {
	o, err := open(ctx, r, "attach", func(rt runtime.Runtime) (runtime.Terminal, error) { return rt.Attach(ctx, id, opts) })
	if err != nil {
		return nil, err
	}
	return &terminal{o}, nil
}

// Logs implements runtime.Runtime.
func (r *runtimeOf) Logs(ctx context.Context, id string, opts runtime.LogOptions) (runtime.LogStream, error) {
	o, err := open(ctx, r, "logs", func(rt runtime.Runtime) (runtime.LogStream, error) { return rt.Logs(ctx, id, opts) })
	if err != nil {
		return nil, err
	}
	return &logStream{o}, nil
}

// Events implements runtime.Runtime.
func (r *runtimeOf) Events(ctx context.Context, opts runtime.EventOptions) (runtime.EventStream, error) {
	o, err := open(ctx, r, "events", func(rt runtime.Runtime) (runtime.EventStream, error) { return rt.Events(ctx, opts) })
	if err != nil {
		return nil, err
	}
	return &eventStream{o}, nil
}

// terminal is a runtime.Terminal whose end is explained.
type terminal struct{ opened[runtime.Terminal] }

func (t *terminal) Recv() (runtime.Frame, error) {
	frame, err := t.stream.Recv()
	if err != nil {
		err = t.end(err)
	}
	return frame, err
}

func (t *terminal) Input(p []byte) error        { return t.end(t.stream.Input(p)) }
func (t *terminal) Resize(cols, rows int) error { return t.end(t.stream.Resize(cols, rows)) }
func (t *terminal) Close() error                { return t.stream.Close() }

// logStream is a runtime.LogStream whose end is explained.
type logStream struct{ opened[runtime.LogStream] }

func (l *logStream) Next() (runtime.LogLine, error) {
	line, err := l.stream.Next()
	return line, l.end(err)
}

func (l *logStream) Close() error { return l.stream.Close() }

// eventStream is a runtime.EventStream whose end is explained.
type eventStream struct{ opened[runtime.EventStream] }

func (e *eventStream) Next() (runtime.Event, error) {
	event, err := e.stream.Next()
	return event, e.end(err)
}

func (e *eventStream) Close() error { return e.stream.Close() }

package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// Conn is one session of an agent with the server. Safe for concurrent use.
type Conn struct {
	Register   protocol.Register   // what the agent asked for
	Registered protocol.Registered // what it was answered

	ws      *websocket.Conn
	writeMu sync.Mutex

	mu      sync.Mutex // guards all below
	frames  []protocol.Envelope
	pongs   int
	ended   bool
	err     error         // why it ended
	changed chan struct{} // closed and replaced at each change
}

// Send sends a frame.
func (c *Conn) Send(typ protocol.Type, id string, payload any) error {
	data, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	return c.SendEnvelope(protocol.Envelope{Type: typ, ID: id, Timestamp: time.Now().UTC(), Payload: data})
}

// SendEnvelope sends a frame as it is.
func (c *Conn) SendEnvelope(f protocol.Envelope) error {
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return c.SendText(data)
}

// SendText sends bytes that need not be a frame.
func (c *Conn) SendText(data []byte) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	return c.ws.WriteMessage(websocket.TextMessage, data)
}

// Task hands out a task; the frame's id is made of the task's.
func (c *Conn) Task(t protocol.Task) error { return c.Send(protocol.TypeTask, "f-"+t.TaskID, t) }

// Ack acknowledges a task's report.
func (c *Conn) Ack(taskID string) error {
	return c.Send(protocol.TypeTaskAck, "", protocol.TaskAck{TaskID: taskID})
}

// Cancel cancels a task.
func (c *Conn) Cancel(taskID, reason string) error {
	return c.Send(protocol.TypeTaskCancelled, "", protocol.TaskCancelled{TaskID: taskID, Reason: reason})
}

// Drop cuts the connection without a word.
func (c *Conn) Drop() { _ = c.ws.NetConn().Close() }

// Close closes the connection with a close frame.
func (c *Conn) Close(code int, text string) error {
	return c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, text), time.Now().Add(time.Second))
}

// Sync waits until the agent has read all that was sent before: it sends a ping and waits for its answer.
func (c *Conn) Sync(ctx context.Context) error {
	c.mu.Lock()
	want := c.pongs + 1
	c.mu.Unlock()
	if err := c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second)); err != nil {
		return err
	}
	for {
		c.mu.Lock()
		done, ended, err, changed := c.pongs >= want, c.ended, c.err, c.changed
		c.mu.Unlock()
		switch {
		case done:
			return nil
		case ended:
			return fmt.Errorf("no pong, the connection ended: %w", err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("no pong: %w", ctx.Err())
		}
	}
}

// pong counts an answered ping. It runs on the reading goroutine.
func (c *Conn) pong(string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pongs++
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

// Next waits for a frame of a type, takes it out of the record, and decodes its payload into v unless v is
// nil. Frames of other types stay.
func (c *Conn) Next(ctx context.Context, typ protocol.Type, v any) (protocol.Envelope, error) {
	for {
		f, found, changed, ended := c.take(typ)
		if found {
			if v == nil {
				return f, nil
			}
			return f, json.Unmarshal(f.Payload, v)
		}
		if ended != nil {
			return f, fmt.Errorf("no %s frame, the connection ended: %w", typ, ended)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return f, fmt.Errorf("no %s frame: %w; there are %v", typ, ctx.Err(), c.Types())
		}
	}
}

// take takes the first frame of a type. Without one it returns what is closed at the next change, or why there
// will be none.
func (c *Conn) take(typ protocol.Type) (f protocol.Envelope, found bool, changed chan struct{}, ended error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, f := range c.frames {
		if f.Type == typ {
			c.frames = append(c.frames[:i:i], c.frames[i+1:]...)
			return f, true, nil, nil
		}
	}
	if c.ended {
		return f, false, nil, c.err
	}
	return f, false, c.changed, nil
}

// Types lists the types of the frames that Next has not taken, heartbeats left out, in the order of arrival.
func (c *Conn) Types() []protocol.Type {
	c.mu.Lock()
	defer c.mu.Unlock()
	var types []protocol.Type
	for _, f := range c.frames {
		if f.Type != protocol.TypeHeartbeat {
			types = append(types, f.Type)
		}
	}
	return types
}

// Ended waits for the end of the connection and returns why it ended.
func (c *Conn) Ended(ctx context.Context) error {
	for {
		c.mu.Lock()
		ended, err, changed := c.ended, c.err, c.changed
		c.mu.Unlock()
		if ended {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the connection has not ended: %w", ctx.Err())
		}
	}
}

// read records frames until the connection ends, and acknowledges heartbeats.
func (c *Conn) read() {
	for {
		_, data, err := c.ws.ReadMessage()
		var f protocol.Envelope
		if err == nil {
			err = json.Unmarshal(data, &f)
		}
		c.mu.Lock()
		if err != nil {
			c.ended, c.err = true, err
		} else {
			c.frames = append(c.frames, f)
		}
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
		if err != nil {
			_ = c.ws.Close()
			return
		}
		if f.Type == protocol.TypeHeartbeat {
			_ = c.Send(protocol.TypeHeartbeatAck, f.ID, protocol.HeartbeatAck{ServerTime: time.Now().UTC()})
		}
	}
}

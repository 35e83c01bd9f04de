package keeper

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/holder/wire"
)

var errUnknown = errors.New("unknown kind of frame")

// request does what one frame asks for. What takes time is done elsewhere: a request that waits must not hold
// up the next. An error means that the frame cannot be understood.
func (k *Keeper) request(c *control, kind wire.Kind, body []byte) error {
	switch kind {
	case wire.KindInput:
		m, err := wire.ParseInput(body)
		if err != nil {
			return err
		}
		if code := k.input.add(typing{id: m.ID, data: m.Data, from: c}); code != wire.CodeOK {
			c.fail(m.ID, code, "")
		}
	case wire.KindResize:
		m, err := wire.ParseResize(body)
		if err != nil {
			return err
		}
		k.resize(c, m)
	case wire.KindSignal:
		m, err := wire.ParseSignal(body)
		if err != nil {
			return err
		}
		k.serveSignal(c, m)
	case wire.KindKill:
		m, err := wire.ParseKill(body)
		if err != nil {
			return err
		}
		k.wg.Go(func() { k.serveKill(c, m) })
	case wire.KindSaveNote:
		m, err := wire.ParseNote(kind, body)
		if err != nil {
			return err
		}
		if len(m.Data) > wire.MaxPayload {
			c.fail(m.ID, wire.CodeInvalid, "a checkpoint has at most 4 MiB")
			return nil
		}
		c.frames.Swap(k.note.take(m.Offset, m.Data, body))
		c.done(m.ID, wire.CodeOK)
	case wire.KindHookAnswer:
		m, err := wire.ParseHookAnswer(kind, body)
		if err != nil {
			return err
		}
		k.hooks.reply(m.Call, m.Body)
	case wire.KindCancel, wire.KindLoadNote, wire.KindRelease, wire.KindLoadUnread:
		m, err := wire.ParsePlain(kind, body)
		if err != nil {
			return err
		}
		k.plain(c, m)
	default:
		return errUnknown
	}
	return nil
}

func (k *Keeper) plain(c *control, m wire.Plain) {
	switch m.What {
	case wire.KindCancel:
		k.input.cancel(c, m.ID)
	case wire.KindLoadNote:
		k.note.use(func(offset uint64, data []byte) {
			c.send(wire.Note{What: wire.KindNote, ID: m.ID, Offset: offset, Data: data})
		})
	case wire.KindLoadUnread:
		c.send(wire.Unread{ID: m.ID, Count: k.term.unread()})
	case wire.KindRelease:
		select {
		case <-k.exited:
			k.listener.close() // before the answer, so that who has it finds no socket any more
			c.done(m.ID, wire.CodeOK)
			k.release.Do(func() { close(k.released) })
		default:
			c.fail(m.ID, wire.CodeInvalid, "the command runs")
		}
	}
}

func (k *Keeper) resize(c *control, m wire.Resize) {
	if m.Cols < 1 || m.Cols > maxSize || m.Rows < 1 || m.Rows > maxSize {
		c.fail(m.ID, wire.CodeInvalid, "the size must be from 1 to 1000 columns and rows")
		return
	}
	if err := k.term.resize(m.Cols, m.Rows); err != nil {
		c.fail(m.ID, wire.CodeEnded, "")
		return
	}
	k.mu.Lock()
	k.cols, k.rows = m.Cols, m.Rows
	k.mu.Unlock()
	c.done(m.ID, wire.CodeOK)
}

func (k *Keeper) serveSignal(c *control, m wire.Signal) {
	select {
	case <-k.reaper.done:
		c.fail(m.ID, wire.CodeEnded, "")
		return
	default:
	}
	if err := proc.Signal(k.command, unix.Signal(m.Signal)); err != nil {
		c.fail(m.ID, wire.CodeEnded, "")
		return
	}
	c.done(m.ID, wire.CodeOK)
}

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	api "github.com/wardroom/wardroom/sdk/client"
)

// messages sends many messages to each command line agent while the machine is busy and viewers change the size of
// the terminal, and counts at the model what arrived.
func (b *bench) messages(ctx context.Context) error {
	n := 1000
	if b.quick {
		n = 50
	}
	return b.eachCLI(ctx, "messages", func(a *cliAgent) error {
		noise, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		for range 2 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				burn(noise)
			}()
			v, err := a.viewer(ctx)
			if err != nil {
				return err
			}
			wg.Add(2)
			go func() {
				defer wg.Done()
				for {
					if _, err := v.Recv(); err != nil {
						return
					}
				}
			}()
			go func() {
				defer wg.Done()
				resizeOften(noise, v)
				_ = v.Close()
			}()
		}
		begun := time.Now()
		refused := 0
		var first error
		for i := range n {
			in := api.ManagedAgentInput{Message: messageText(i), ExpectResponse: true, Timeout: 2 * time.Minute}
			answer, err := a.Client.SendManagedAgent(ctx, a.ID, in)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				refused++
				if first == nil {
					first = fmt.Errorf("message %d: %w", i, err)
				}
			case answer.Response == nil || answer.Response.Text == "":
				return fmt.Errorf("message %d: the answer has no text", i)
			}
		}
		took := time.Since(begun)
		note := ""
		if first != nil {
			note = first.Error()
		}
		got := a.arrived(n)
		b.add("messages", fmt.Sprintf("%s: messages under load and resizes", a.Type), float64(n), "%.0f", 0, false,
			fmt.Sprintf("%.0f s, %.2f s each", took.Seconds(), took.Seconds()/float64(n)))
		b.zero("messages", a.Type+": answered with an error", refused, note)
		b.zero("messages", a.Type+": lost", got.lost, "")
		b.zero("messages", a.Type+": doubled", got.doubled, "")
		b.zero("messages", a.Type+": merged or changed", got.changed, got.example)
		return nil
	})
}

// zero reports a number that must be 0.
func (b *bench) zero(part, measure string, n int, note string) {
	met := n == 0
	b.rows = append(b.rows, row{Part: part, Measure: measure, Value: fmt.Sprint(n), Target: "0", Met: &met, Number: float64(n), Ratio: note})
}

// messageText differs from message to message, and has more than one line now and then.
func messageText(i int) string {
	text := fmt.Sprintf("message %04d: count this once", i)
	if i%7 == 3 {
		text += "\nsecond line of it, with ümlauts and 日本語"
	}
	return text
}

// arrival is what came of messages at the model.
type arrival struct {
	lost, doubled, changed int
	example                string // of what was changed
}

// arrived compares the turns that the model answered with the messages that were sent. Side questions do not count.
func (a *cliAgent) arrived(n int) arrival {
	var got arrival
	times := map[string]int{}
	for _, q := range a.model.Requests() {
		if q.Kind == "text" {
			times[q.User]++
		}
	}
	for i := range n {
		switch count := times[messageText(i)]; {
		case count == 0:
			got.lost++
		case count > 1:
			got.doubled++
		}
		delete(times, messageText(i))
	}
	for text := range times {
		got.changed++
		got.example = fmt.Sprintf("for example %.400q", text)
	}
	return got
}

func (a *cliAgent) viewer(ctx context.Context) (*viewer, error) {
	address, header := a.Client.TerminalRequest(a.ID)
	return view(ctx, address, header)
}

// burn keeps a core busy.
func burn(ctx context.Context) {
	x := uint64(1)
	for ctx.Err() == nil {
		for range 1_000_000 {
			x = x*6364136223846793005 + 1
		}
	}
	if x == 0 {
		panic("a multiplication by an odd number and an increment came to 0") // so that the loop is not left out
	}
}

// resizeOften asks for another size a few times a second.
func resizeOften(ctx context.Context, v *viewer) {
	for testbed.Pause(ctx, time.Duration(100+rand.IntN(400))*time.Millisecond) == nil {
		if v.Resize(60+rand.IntN(120), 20+rand.IntN(40)) != nil {
			return
		}
	}
}

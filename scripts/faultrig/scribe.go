package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

const (
	// hostCommand is the first argument of the rig's own binary when it plays a connected agent that hosts threads.
	hostCommand = "host"
	// scribeType is the agent type that such an agent offers.
	scribeType = "scribe"
	// hostRoom is how many threads it takes.
	hostRoom = 64
)

// Words that begin the messages by which an agent of a thread comes to its end. Any other message is a turn.
const (
	wordReport = "report " // it reports that it is done
	wordExit   = "exit "   // it ends by itself, with code 3
)

// reportBlock is the structured block of a message that ends the work.
func reportBlock(text string) string {
	return "```wardroom {\"state\":\"complete\",\"summary\":\"" + text + "\"}```"
}

// host hosts threads whose agents write each message they get into a ledger. The ledgers outlive the process, so an
// agent is taken up where it was.
type host struct {
	dir string // of the ledgers

	mu   sync.Mutex // guards all
	open map[string]*scribe
}

// scribe is the agent of one thread.
type scribe struct {
	path string

	mu   sync.Mutex      // held over a turn; guards ids
	ids  []string        // of the messages in the ledger
	mine map[string]bool // of those, the ones that this process was given
}

func hostMain(args []string) int {
	flags := flag.NewFlagSet(hostCommand, flag.ExitOnError)
	server := flags.String("server", "", "address of the core")
	name := flags.String("name", "", "name of the agent")
	ledgers := flags.String("ledgers", "", "folder of the ledgers")
	state := flags.String("state", "", "folder of the session to resume")
	_ = flags.Parse(args) // ExitOnError
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	h := &host{dir: *ledgers, open: map[string]*scribe{}}
	registered := make(chan struct{}, 1)
	a, err := agent.New(agent.Options{
		URL: *server, Name: *name, StateFile: filepath.Join(*state, "session"),
		Threads:      &agent.ThreadOptions{Max: hostRoom, Types: []string{scribeType}, Host: h, StateDir: filepath.Join(*state, "threads")},
		ReconnectMin: 10 * time.Millisecond, ReconnectMax: 100 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		OnRegistered: func(protocol.Registered) {
			select {
			case registered <- struct{}{}:
			default:
			}
		},
	})
	if err == nil {
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx) }()
		select {
		case <-registered:
			fmt.Println("ready: " + *name)
			err = <-ended
		case err = <-ended:
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		return 1
	}
	return 0
}

// scribe returns the agent of a thread, with the ledger that it has.
func (h *host) scribe(id string) (*scribe, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.open[id]; s != nil {
		return s, nil
	}
	s := &scribe{path: filepath.Join(h.dir, id), mine: map[string]bool{}}
	file, err := os.Open(s.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		defer file.Close()
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if id, _, ok := strings.Cut(lines.Text(), " "); ok && id != doubled {
				s.ids = append(s.ids, id)
			}
		}
	}
	h.open[id] = s
	return s, nil
}

// Spawn implements agent.ThreadHost.
func (h *host) Spawn(ctx context.Context, t *agent.Thread) error {
	s, err := h.scribe(t.Spec.ThreadID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tell(ctx, t, stage{})
}

// Adopt implements agent.ThreadAdopter: what the process before did not come to tell is told now.
func (h *host) Adopt(_ context.Context, t *agent.Thread, mark string) {
	s, err := h.scribe(t.Spec.ThreadID)
	if err != nil {
		fmt.Fprintln(os.Stderr, "adopt:", err)
		os.Exit(1)
	}
	var at stage
	if mark != "" {
		if _, err := fmt.Sscanf(mark, "%d %d", &at.turn, &at.told); err != nil {
			fmt.Fprintf(os.Stderr, "adopt: mark %q: %v\n", mark, err)
			os.Exit(1)
		}
	}
	s.mu.Lock() // before any message can come
	go func() {
		defer s.mu.Unlock()
		if err := s.tell(t.Context(), t, at); err != nil && t.Context().Err() == nil {
			fmt.Fprintln(os.Stderr, "adopt:", err)
		}
	}()
}

// doubled begins a line of a ledger about a message that this very process was given before.
const doubled = "doubled"

// Message implements agent.ThreadHost. One that an earlier process wrote down, and died over, is not written again.
func (h *host) Message(ctx context.Context, t *agent.Thread, m agent.ThreadMessage) error {
	s, err := h.scribe(t.Spec.ThreadID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.ids {
		if id != m.ID {
			continue
		}
		if s.mine[m.ID] {
			return s.write(doubled + " " + m.Text)
		}
		s.mine[m.ID] = true
		return nil // Adopt has told of it
	}
	if err := s.write(m.ID + " " + m.Text); err != nil {
		return err
	}
	s.ids = append(s.ids, m.ID)
	s.mine[m.ID] = true
	return s.tell(ctx, t, stage{turn: len(s.ids), told: 0})
}

// write appends a line to the ledger, at once.
func (s *scribe) write(line string) error {
	file, err := os.OpenFile(s.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line + "\n")
	return errors.Join(err, file.Close())
}

// stage is how far a scribe has told what it did: so many events of a turn; turn 0 is its start.
type stage struct{ turn, told int }

// tell tells everything after a stage, up to the end of the last turn in the ledger.
func (s *scribe) tell(ctx context.Context, t *agent.Thread, at stage) error {
	texts, err := s.texts()
	if err != nil {
		return err
	}
	for ; at.turn <= len(texts); at = (stage{turn: at.turn + 1}) {
		events := []agent.ThreadEvent{{Type: protocol.ThreadStarted}, {Type: protocol.ThreadReady}}
		if at.turn > 0 {
			events = turnEvents(at.turn, s.ids[at.turn-1], texts[at.turn-1])
		}
		for ; at.told < len(events); at.told++ {
			e := events[at.told]
			e.Mark = fmt.Sprintf("%d %d", at.turn, at.told+1)
			if err := t.Tell(ctx, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// turnEvents are what a scribe tells of a message.
func turnEvents(turn int, id, text string) []agent.ThreadEvent {
	taken := agent.ThreadEvent{Type: protocol.ThreadBusy, InputTaken: id}
	if strings.HasPrefix(text, wordExit) {
		code := 3
		return []agent.ThreadEvent{taken, {Type: protocol.ThreadStopped, Data: protocol.ThreadData{Reason: "exited", ExitCode: &code}}}
	}
	said := "got " + text
	if strings.HasPrefix(text, wordReport) {
		said = reportBlock(text)
	}
	return []agent.ThreadEvent{
		taken,
		{Type: protocol.ThreadMessage, Data: protocol.ThreadData{Text: said}},
		{Type: protocol.ThreadTurnComplete, Data: protocol.ThreadData{Turn: turn, Text: said}},
		{Type: protocol.ThreadReady},
	}
}

// texts reads the messages in the ledger.
func (s *scribe) texts() ([]string, error) {
	lines, err := readLedger(s.path)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, line := range lines {
		if id, text, _ := strings.Cut(line, " "); id != doubled {
			texts = append(texts, text)
		}
	}
	return texts, nil
}

// readLedger returns the lines of a ledger; one that is not there is empty.
func readLedger(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil || len(text) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), nil
}

// Answer implements agent.ThreadHost: a scribe never asks.
func (h *host) Answer(context.Context, *agent.Thread, protocol.ThreadAnswer) error {
	return errors.New("nothing was asked")
}

// Stop implements agent.ThreadHost. It waits for what the agent is about to do.
func (h *host) Stop(_ context.Context, t *agent.Thread, _ protocol.ThreadStop) error {
	s, err := h.scribe(t.Spec.ThreadID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return nil
}

package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
)

var _ core.QuestionService = (*Engine)(nil)

// FindQuestions implements core.QuestionService.
func (e *Engine) FindQuestions(ctx context.Context, filter core.QuestionFilter) ([]*core.Question, core.PageInfo, error) {
	if filter.ExecutionID != "" {
		if _, err := e.store.FindExecution(ctx, filter.ExecutionID); err != nil {
			return nil, core.PageInfo{}, err
		}
	}
	return e.store.FindQuestions(ctx, filter)
}

// FindQuestion implements core.QuestionService.
func (e *Engine) FindQuestion(ctx context.Context, id string) (*core.Question, error) {
	return e.store.FindQuestion(ctx, id)
}

// AnswerQuestion implements core.QuestionService.
func (e *Engine) AnswerQuestion(ctx context.Context, executionID, id string, answer json.RawMessage) (*core.Question, error) {
	answer = bytes.TrimSpace(answer)
	if err := checkContent("answer", answer); err != nil {
		return nil, err
	}
	if string(answer) == "null" {
		return nil, core.Invalid("answer", "must not be null; send any other JSON value")
	}
	q, err := e.openQuestion(ctx, executionID, id)
	if err != nil {
		return nil, err
	}
	r := e.activeRun(q.ExecutionID)
	if r == nil {
		return e.notOpen(ctx, executionID, id)
	}
	a := &peopleAnswer{id: id, answer: answer, by: core.PrincipalFrom(ctx).ID, done: make(chan answerOutcome, 1)}
	if !r.inbox.put(message{kind: msgExchange, exchange: exchangeMessage{a}}) {
		return e.notOpen(ctx, executionID, id)
	}
	select {
	case out := <-a.done:
		if errors.Is(out.err, errNotOpen) {
			return e.notOpen(ctx, executionID, id)
		}
		return out.question, out.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-e.quit:
		select { // it may have become durable just before
		case out := <-a.done:
			if out.err == nil {
				return out.question, nil
			}
		default:
		}
		return nil, errShuttingDown()
	}
}

// openQuestion finds a question that can be answered.
func (e *Engine) openQuestion(ctx context.Context, executionID, id string) (*core.Question, error) {
	q, err := e.store.FindQuestion(ctx, id)
	if err != nil {
		return nil, err
	}
	if executionID != "" && q.ExecutionID != executionID {
		return nil, core.NotFound("question", id)
	}
	if q.Status != core.QuestionOpen {
		return nil, core.Conflict("question", id, string(q.Status), "question %s is %s already", id, q.Status)
	}
	return q, nil
}

// notOpen is the answer to one who comes too late. The state is durable by now, unless the engine stops or is not
// open yet.
func (e *Engine) notOpen(ctx context.Context, executionID, id string) (*core.Question, error) {
	if _, err := e.openQuestion(ctx, executionID, id); err != nil {
		return nil, err
	}
	return nil, errShuttingDown()
}

// errNotOpen says that the run does not have the question open any more.
var errNotOpen = errors.New("the question is not open")

// peopleAnswer is an answer of people on its way to the run.
type peopleAnswer struct {
	id     string
	answer json.RawMessage
	by     string
	done   chan answerOutcome // of one; sent once at most
}

type answerOutcome struct {
	question *core.Question
	err      error
}

func (a *peopleAnswer) refuse(*run) { a.done <- answerOutcome{err: errNotOpen} }
func (a *peopleAnswer) abandon()    { a.done <- answerOutcome{err: errShuttingDown()} }

func (a *peopleAnswer) handle(r *chartRun, c *change) {
	l := r.exchanges.questions[a.id]
	if c.over || l == nil || l.question == nil {
		c.after = append(c.after, func() { a.done <- answerOutcome{err: errNotOpen} })
		return
	}
	content, ok := l.answerOfPeople(a.answer)
	if !ok {
		reason := "must name one of the options: " + listOptions(l.Options)
		if l.Kind == core.QuestionDialog {
			reason += `; or be {"text": ...}`
		}
		a.done <- answerOutcome{err: core.Invalid("answer", "%s", reason)}
		return
	}
	q := l.question
	q.Answer, q.AnsweredBy = a.answer, a.by
	c.causedBy(a.by, func() {
		r.event(c, core.EventQuestionAnswered, answeredData{QuestionID: q.ID, MessageID: l.MessageID, Answer: a.answer, By: a.by})
		r.closeQuestion(c, l, core.QuestionAnswered)
		r.reply(c, l, core.FromPeople, "", content)
	})
	c.after = append(c.after, func() {
		out := answerOutcome{err: errNotOpen}
		if q.Status == core.QuestionAnswered { // else the change could not be stored
			copied := *q
			out = answerOutcome{question: &copied}
		}
		a.done <- out
	})
}

// maxQuestionText bounds the text of a question, in bytes; its content is whole.
const maxQuestionText = 4000

// maxAlertText bounds what an alert shows of it.
const maxAlertText = 200

// askPeople surfaces an exchange as a question, which the execution waits for.
func (r *chartRun) askPeople(c *change, l *exchange) {
	q := &core.Question{
		ID: r.eng.ids.New(core.PrefixQuestion), ExecutionID: r.exec.ID, Kind: l.Kind, Status: core.QuestionOpen,
		Step: l.Step, Role: l.Role, AgentID: l.AgentID, TaskID: l.TaskID, MessageID: l.MessageID,
		MessageType: l.MessageType, Topic: l.Topic, Depth: l.Depth,
		Text: clip.Marked(questionText(l.Content), maxQuestionText, ellipsis), Content: l.Content, Options: l.Options, URL: l.URL,
		CreatedBy: r.exec.CreatedBy, CreatedAt: c.now, ExpiresAt: c.now.Add(r.eng.config.Load().QuestionTimeout),
	}
	if l.Kind != core.QuestionMessage {
		q.PromptID = l.AskID
	}
	l.question = q
	r.exchanges.questions[q.ID] = l
	r.putQuestion(c, q)
	r.event(c, core.EventQuestionAsked, askedData{Question: *q})
	r.event(c, core.EventSystemAlert, core.Alert{
		Severity: core.SeverityWarning,
		Message:  "Role " + l.Role + " of " + r.exec.Pattern.Name + " waits for an answer: " + clip.Marked(q.Text, maxAlertText, ellipsis),
		Details:  map[string]any{"executionId": r.exec.ID, "questionId": q.ID, "role": l.Role, "step": l.Step},
	})
	r.freeze(c.now)
}

// putQuestion stores a question with the change.
func (r *chartRun) putQuestion(c *change, q *core.Question) {
	if r.exchanges.by != c {
		r.exchanges.by, r.exchanges.touched = c, nil
	}
	r.exchanges.touched = append(r.exchanges.touched, q)
	copied := *q
	c.questions = append(c.questions, &copied)
}

// closeQuestion ends the question of an exchange. The deadline goes on when it was the last one.
func (r *chartRun) closeQuestion(c *change, l *exchange, status core.QuestionStatus) {
	q, at := l.question, c.now
	q.Status, q.ClosedAt = status, &at
	delete(r.exchanges.questions, q.ID)
	l.question = nil
	r.putQuestion(c, q)
	r.thaw(c)
}

// expire ends the execution because people did not answer in time.
func (r *chartRun) expire(c *change, l *exchange) {
	r.event(c, core.EventQuestionExpired, expiredData{QuestionID: l.question.ID})
	r.closeQuestion(c, l, core.QuestionExpired)
	r.failEscalation(c, l, "people did not answer in time")
}

// questionText is what people read of a message's content: its text, or else its JSON.
func questionText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(content, &object) == nil {
		for _, name := range []string{"text", "question", "message", "prompt", "content", "summary", "title"} {
			if json.Unmarshal(object[name], &text) == nil && strings.TrimSpace(text) != "" {
				return text
			}
		}
	}
	var compact bytes.Buffer
	if json.Compact(&compact, content) != nil {
		return string(content)
	}
	return compact.String()
}

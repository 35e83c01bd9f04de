package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardroom/wardroom/core"
)

// Questions counts what agents of org charts ask each other, and people.
type Questions struct {
	open   prometheus.Gauge
	counts map[core.EventType]prometheus.Counter
}

// NewQuestions makes the series of messages and questions.
func NewQuestions(reg prometheus.Registerer) *Questions {
	open := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "service_questions_open", Help: "Questions to people that wait for an answer.",
	})
	questions := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_questions_total", Help: "Questions to people, by what happened to them: asked, answered, expired.",
	}, []string{"event"})
	messages := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_messages_total", Help: "Messages between roles, by what happened to them: sent, escalated, replied.",
	}, []string{"event"})
	reg.MustRegister(open, questions, messages)
	return &Questions{open: open, counts: map[core.EventType]prometheus.Counter{
		core.EventQuestionAsked:    questions.WithLabelValues("asked"),
		core.EventQuestionAnswered: questions.WithLabelValues("answered"),
		core.EventQuestionExpired:  questions.WithLabelValues("expired"),
		core.EventMessageSent:      messages.WithLabelValues("sent"),
		core.EventMessageEscalated: messages.WithLabelValues("escalated"),
		core.EventMessageReplied:   messages.WithLabelValues("replied"),
	}}
}

// Committed counts what was stored; other events are passed over.
func (q *Questions) Committed(events []core.Event) {
	for i := range events {
		if c, ok := q.counts[events[i].Type]; ok {
			c.Inc()
		}
	}
}

// Open reports how many questions wait for an answer now.
func (q *Questions) Open(n int) { q.open.Set(float64(n)) }

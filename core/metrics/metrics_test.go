package metrics_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/metrics"
)

// series gathers a registry as "name{label=value,...}" to value; of a histogram the count.
func series(tb testing.TB, reg prometheus.Gatherer) map[string]float64 {
	tb.Helper()
	families, err := reg.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			all[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = value(f.GetType(), m)
		}
	}
	return all
}

func value(t dto.MetricType, m *dto.Metric) float64 {
	switch t {
	case dto.MetricType_COUNTER:
		return m.GetCounter().GetValue()
	case dto.MetricType_GAUGE:
		return m.GetGauge().GetValue()
	case dto.MetricType_HISTOGRAM:
		return float64(m.GetHistogram().GetSampleCount())
	}
	return math.NaN()
}

func newMetrics() (*metrics.Metrics, *prometheus.Registry) {
	reg := prometheus.NewRegistry()
	return metrics.New(reg, metrics.Build{Version: "1.2.3", Commit: "abc"}), reg
}

func expect(tb testing.TB, reg prometheus.Gatherer, want map[string]float64) {
	tb.Helper()
	got := series(tb, reg)
	for name, v := range want {
		if g, ok := got[name]; !ok || g != v {
			tb.Errorf("%s is %v (there: %v), want %v", name, g, ok, v)
		}
	}
}

// The names of the interface, to the letter.
func TestNames(t *testing.T) {
	m, reg := newMetrics()
	m.Executions.ExecutionFinished("classify", core.ExecutionCompleted, time.Second)
	m.Agents.Watch(func() metrics.AgentFigures {
		return metrics.AgentFigures{Connected: map[string]int{"eu": 2, "": 1}, FramesIn: 5, Refused: map[string]int64{"rate": 1}}
	})
	expect(t, reg, map[string]float64{
		"service_executions_total{pattern=classify,status=completed}": 1,
		"service_executions_total{pattern=classify,status=failed}":    0,
		"service_execution_duration_seconds{pattern=classify}":        1,
		"service_agents_connected{region=eu}":                         2,
		"service_agents_connected{region=}":                           1,
		"service_agent_frames_total{direction=in}":                    5,
		"service_agent_refused_total{reason=rate}":                    1,
	})
	found := false
	for name := range series(t, reg) {
		found = found || strings.HasPrefix(name, "service_build_info{commit=abc,goversion=go") && strings.HasSuffix(name, "version=1.2.3}")
		if !strings.HasPrefix(name, "service_") {
			t.Errorf("%s lacks the prefix", name)
		}
	}
	if !found {
		t.Error("service_build_info is missing")
	}
}

func TestTotals(t *testing.T) {
	m, reg := newMetrics()
	e := m.Executions
	e.Seed(100, 3)
	e.ExecutionStarted("a")
	e.ExecutionStarted("a")
	e.ExecutionFinished("a", core.ExecutionCompleted, 10*time.Millisecond)
	e.ExecutionFinished("a", core.ExecutionCancelled, 30*time.Millisecond)
	total, active, mean := e.Totals()
	if total != 102 || active != 3 || mean != 20*time.Millisecond {
		t.Errorf("total %d, active %d, mean %s", total, active, mean)
	}
	expect(t, reg, map[string]float64{"service_executions_active{}": 3})
	if _, _, mean := metrics.NewExecutions(prometheus.NewRegistry()).Totals(); mean != 0 {
		t.Errorf("mean of nothing is %s", mean)
	}
}

// A client that invents pattern names, or an agent that invents regions, cannot grow the process.
func TestLabelsAreBounded(t *testing.T) {
	m, reg := newMetrics()
	const many = metrics.MaxLabelValues + 50
	connected := map[string]int{metrics.Other: 7}
	for i := range many {
		m.Executions.ExecutionFinished(fmt.Sprintf("p%04d", i), core.ExecutionFailed, time.Second)
		connected[fmt.Sprintf("r%04d", i)] = 1
	}
	m.Executions.ExecutionFinished("bad\xff", core.ExecutionFailed, time.Second)
	connected["bad\xff"] = 1
	m.Agents.Watch(func() metrics.AgentFigures { return metrics.AgentFigures{Connected: connected} })
	got := series(t, reg)
	patterns, regions := 0, 0
	for name := range got {
		if strings.HasPrefix(name, "service_execution_duration_seconds{") {
			patterns++
		}
		if strings.HasPrefix(name, "service_agents_connected{") {
			regions++
		}
	}
	if patterns != metrics.MaxLabelValues+1 || regions != metrics.MaxLabelValues {
		t.Errorf("%d patterns, %d regions", patterns, regions)
	}
	if n := got["service_executions_total{pattern=other,status=failed}"]; n != 51 {
		t.Errorf("other patterns count %v", n)
	}
	// 1052 regions: bad, other and 998 of the rest are shown; other has its own 7 and the 52 that are not.
	if n := got["service_agents_connected{region=other}"]; n != 7+52 {
		t.Errorf("other regions count %v", n)
	}
}

func TestEngine(t *testing.T) {
	m, reg := newMetrics()
	e := m.Engine
	e.QueueLength(4)
	e.Parked(5)
	e.QueueWaited(time.Millisecond)
	e.QueueRefused()
	e.Resumed(3)
	e.TaskEnded(metrics.TaskLate, time.Second)
	e.TaskEnded("unheard of", time.Second)
	expect(t, reg, map[string]float64{
		"service_engine_queue_length{}":          4,
		"service_engine_parked_executions{}":     5,
		"service_engine_queue_wait_seconds{}":    1,
		"service_engine_refused_total{}":         1,
		"service_engine_resumed_total{}":         3,
		"service_tasks_total{outcome=late}":      1,
		"service_tasks_total{outcome=failed}":    1,
		"service_tasks_total{outcome=completed}": 0,
		"service_task_duration_seconds{}":        2,
	})
}

func TestHTTP(t *testing.T) {
	m, reg := newMetrics()
	observe := m.HTTP.Route("getPattern")
	observe(200, time.Millisecond)
	observe(404, time.Millisecond)
	observe(200, -1) // a stream: counted, not timed
	observe(0, time.Millisecond)
	observe(999, time.Millisecond)
	m.HTTP.StreamOpened()
	m.HTTP.StreamOpened()
	m.HTTP.StreamClosed()
	m.HTTP.StreamDropped("age")
	m.HTTP.Panicked()
	expect(t, reg, map[string]float64{
		"service_http_requests_total{operation=getPattern,status=2xx}": 2,
		"service_http_requests_total{operation=getPattern,status=4xx}": 1,
		"service_http_requests_total{operation=getPattern,status=5xx}": 0,
		"service_http_request_duration_seconds{operation=getPattern}":  4,
		"service_streams_open{}":                   1,
		"service_stream_dropped_total{reason=age}": 1,
		"service_http_panics_total{}":              1,
	})
}

func TestConnections(t *testing.T) {
	m, reg := newMetrics()
	expect(t, reg, map[string]float64{"service_connections_open{}": 0, "service_connections_refused_total{}": 0})
	m.Connections.Watch(func() metrics.ConnectionFigures { return metrics.ConnectionFigures{Open: 3, Refused: 2, Stalled: 1} })
	expect(t, reg, map[string]float64{
		"service_connections_open{}":          3,
		"service_connections_refused_total{}": 2,
		"service_connections_stalled_total{}": 1,
	})
}

func TestStoreAndConfig(t *testing.T) {
	m, reg := newMetrics()
	figures := metrics.StoreFigures{
		Commits: 3, Updates: 12, CommitTime: 1500 * time.Millisecond, Failures: 1, Size: 10, Free: 20, ReadOnly: true,
		Broken: 4, Encrypted: true, MasterKey: "00aa", DataKey: "2", Unsealed: 7, Retention: map[string]int64{"events": 5},
	}
	m.Store.Watch(func() metrics.StoreFigures { return figures })
	at := time.Unix(1700000000, 500_000_000)
	m.Config.Reloaded(true, at)
	m.Config.Reloaded(false, at.Add(time.Hour))
	expect(t, reg, map[string]float64{
		"service_store_commits_total{}":                       3,
		"service_store_transactions_total{}":                  12,
		"service_store_commit_seconds_total{}":                1.5,
		"service_store_failures_total{}":                      1,
		"service_store_size_bytes{}":                          10,
		"service_store_free_bytes{}":                          20,
		"service_store_read_only{}":                           1,
		"service_store_broken_records{}":                      4,
		"service_store_retention_failures_total{kind=events}": 5,
		"service_store_encrypted{}":                           1,
		"service_store_encryption_pending_records{}":          7,

		"service_store_encryption_info{data_key=2,master_key=00aa}": 1,
		"service_config_last_reload_successful{}":                   0,
		"service_config_last_reload_success_timestamp_seconds{}":    1700000000.5,
	})
	figures.ReadOnly = false
	expect(t, reg, map[string]float64{"service_store_read_only{}": 0})
}

func TestProcess(t *testing.T) {
	reg := prometheus.NewRegistry()
	metrics.RegisterProcess(reg)
	var names []string
	for name := range series(t, reg) {
		names = append(names, name)
	}
	if !slices.Contains(names, "go_goroutines{}") || !slices.Contains(names, "process_resident_memory_bytes{}") {
		t.Errorf("series %v", names)
	}
}

func TestTwoRegistrationsPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the same series were registered twice")
		}
	}()
	reg := prometheus.NewRegistry()
	metrics.New(reg, metrics.Build{})
	metrics.New(reg, metrics.Build{})
}

func TestConcurrentUse(t *testing.T) {
	m, reg := newMetrics()
	done := make(chan struct{})
	for g := range 8 {
		go func() {
			for i := range 200 {
				name := fmt.Sprintf("p%d", (g*7+i)%50)
				m.Executions.ExecutionStarted(name)
				m.Executions.ExecutionFinished(name, core.ExecutionCompleted, time.Millisecond)
			}
			done <- struct{}{}
		}()
	}
	for range 8 {
		series(t, reg)
		<-done
	}
	if total, active, _ := m.Executions.Totals(); total != 1600 || active != 0 {
		t.Errorf("total %d, active %d", total, active)
	}
}

func TestQuestions(t *testing.T) {
	m, reg := newMetrics()
	m.Questions.Committed([]core.Event{
		{Type: core.EventQuestionAsked}, {Type: core.EventQuestionAsked}, {Type: core.EventQuestionAnswered},
		{Type: core.EventMessageSent}, {Type: core.EventMessageEscalated}, {Type: core.EventTaskCompleted},
	})
	m.Questions.Open(1)
	expect(t, reg, map[string]float64{
		"service_questions_open{}":                1,
		"service_questions_total{event=asked}":    2,
		"service_questions_total{event=answered}": 1,
		"service_questions_total{event=expired}":  0,
		"service_messages_total{event=sent}":      1,
		"service_messages_total{event=escalated}": 1,
		"service_messages_total{event=replied}":   0,
	})
}

// TestAdHocExecutions: no engine runs them, so they are counted by their events.
func TestAdHocExecutions(t *testing.T) {
	m, reg := newMetrics()
	m.Executions.Seed(5, 1)
	event := func(kind core.EventType, pattern core.PatternRef, more string) core.Event {
		return core.Event{Type: kind, Data: fmt.Appendf(nil, `{"executionId":"exec_1","pattern":{"name":%q,"version":%q}%s}`, pattern.Name, pattern.Version, more)}
	}
	ours, other := core.AdHocPattern, core.PatternRef{Name: "triage", Version: "1.0.0"}
	m.Executions.Committed([]core.Event{
		event(core.EventExecutionStarted, ours, `,"input":{}`), event(core.EventExecutionStarted, ours, ""), event(core.EventExecutionStarted, ours, ""),
		event(core.EventExecutionStarted, other, `,"input":{"about":"managed-thread"}`), event(core.EventThreadStarted, ours, ""),
	})
	if total, active, _ := m.Executions.Totals(); total != 8 || active != 4 {
		t.Errorf("total %d, active %d; want 8 and 4", total, active)
	}
	m.Executions.Committed([]core.Event{
		event(core.EventExecutionCompleted, ours, `,"duration":2000`), event(core.EventExecutionFailed, ours, `,"duration":4000`),
		event(core.EventExecutionCancelled, ours, ""), event(core.EventExecutionCompleted, other, `,"duration":1`),
		{Type: core.EventExecutionCompleted, Data: []byte(`"managed-thread"`)}, {Type: core.EventExecutionCompleted},
	})
	if total, active, mean := m.Executions.Totals(); total != 8 || active != 1 || mean != 2*time.Second {
		t.Errorf("total %d, active %d, mean %v; want 8, 1 and 2 s", total, active, mean)
	}
	expect(t, reg, map[string]float64{
		"service_executions_total{pattern=managed-thread,status=completed}": 1,
		"service_executions_total{pattern=managed-thread,status=failed}":    1,
		"service_executions_total{pattern=managed-thread,status=cancelled}": 1,
	})
}

// TestTimesThatFall checks that no sum falls when the wall clock was set back within what is measured: Prometheus takes that
// for a restart.
func TestTimesThatFall(t *testing.T) {
	m, reg := newMetrics()
	observe := func(d time.Duration) {
		m.Executions.ExecutionStarted("p")
		m.Executions.ExecutionFinished("p", core.ExecutionCompleted, d)
		m.Engine.QueueWaited(d)
		m.Engine.TaskEnded(metrics.TaskCompleted, d)
		m.Threads.ThreadEnded(core.ThreadStopped, "", d)
		m.Threads.TurnEnded(d)
		m.Webhooks.AttemptEnded(200, true, d)
		m.Webhooks.EventsFanned(1, 1, d)
		m.Schedules.Lag(d)
		m.Audit.Delivered("sink", 1, d)
		m.Plugins.Called("p", "m", "ok", d)
	}
	observe(time.Second)
	observe(-time.Hour)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			if h := metric.GetHistogram(); h.GetSampleCount() > 0 && h.GetSampleSum() < 1 {
				t.Errorf("the sum of %s fell to %v", f.GetName(), h.GetSampleSum())
			}
		}
	}
	if _, _, mean := m.Executions.Totals(); mean != time.Second/2 {
		t.Errorf("executions took %s in the mean", mean)
	}
}

// TestCodesOfPlugins checks that a plugin whose errors have a new code each does not make a series of each.
func TestCodesOfPlugins(t *testing.T) {
	m, reg := newMetrics()
	before := len(series(t, reg))
	for i := range 1000 {
		code := fmt.Sprint("CODE_", i)
		m.Plugins.Called("p", "m", code, 0)
		m.Audit.SinkFailed("p", code)
	}
	all := series(t, reg)
	if len(all)-before > 200 {
		t.Errorf("%d series", len(all)-before)
	}
	if n := all["service_plugin_calls_total{code=other,method=m,plugin=p}"]; n < 800 || all["service_audit_sink_failures_total{code=other,sink=p}"] != n {
		t.Errorf("%v calls with another code", n)
	}
}

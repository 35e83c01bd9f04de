// Package tracing keeps the traces of work and hands them to a collector, by OTLP over HTTP.
//
// It owns the decision which traces are sampled, the bounded queue before the collector, and what becomes of spans that a
// collector does not take: they are dropped and counted, and nothing waits for them. It does not know what a span tells;
// core/api, core/engine, core/roles, core/threads and core/webhook record theirs through core.Tracer, and appliance opens,
// reloads and closes it.
package tracing

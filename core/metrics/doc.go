// Package metrics holds the Prometheus series: one struct per component, made on an injected registerer.
//
// It owns names, labels, buckets and the bound on label values. It does not measure anything itself and
// imports no component: each component declares the small interface it reports to, and the appliance hands
// it the struct from here. core/api serves the result as text.
package metrics

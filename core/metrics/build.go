package metrics

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// Build says what runs.
type Build struct {
	Version string
	Commit  string
}

// registerBuild publishes service_build_info, a constant 1 whose labels name the build.
func registerBuild(reg prometheus.Registerer, b Build) {
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "service_build_info",
		Help: "Always 1; the labels say which build runs.",
		ConstLabels: prometheus.Labels{
			"version": b.Version, "commit": b.Commit, "goversion": runtime.Version(),
		},
	}, func() float64 { return 1 }))
}

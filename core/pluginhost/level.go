package pluginhost

import (
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
)

// levelBox is the level from which on plugins log.
type levelBox struct{ value atomic.Int32 }

func newLevelBox(l hclog.Logger) *levelBox {
	b := new(levelBox)
	b.set(l.GetLevel())
	return b
}

func (b *levelBox) set(level hclog.Level) {
	if level == hclog.NoLevel {
		level = hclog.Info
	}
	b.value.Store(int32(level))
}

func (b *levelBox) get() hclog.Level { return hclog.Level(b.value.Load()) }

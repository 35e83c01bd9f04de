package webhook

import (
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/core"
)

// endpointEvent makes an event that tells of an endpoint. What it has can be read in the same transaction.
func endpointEvent(kind core.EventType, rec *core.WebhookRecord, at time.Time) core.Event {
	data, _ := json.Marshal(core.WebhookNotice{ // plain data always encodes
		WebhookID: rec.ID, Enabled: rec.Enabled, Declared: rec.Declared, Reason: rec.DisabledReason,
	})
	return core.Event{Type: kind, Time: at, Subject: rec.ID, Data: data}
}

// tell gives notice that deliveries of an endpoint were made, attempted or ended. What became of them is stored by then.
func (s *Service) tell(id string) {
	s.opts.Notice(core.Event{Type: core.EventWebhookDeliveries, Time: s.clock.Now(), Subject: id})
}

// tellOf is tell for the endpoints of deliveries.
func (s *Service) tellOf(list []*endpoint) {
	told := make(map[*endpoint]bool, 1)
	for _, ep := range list {
		if !told[ep] {
			told[ep] = true
			s.tell(ep.id)
		}
	}
}

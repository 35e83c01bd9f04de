package store

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
)

// The binary form of a delivery (v/). There may be millions, each is written twice, and the event's body is not in it:
//
//	1, status as its index in core.DeliveryStatuses, event as its place in deliveryEvents, flags, be32 number of the
//	webhook, uvarint Seq, attempts, manual and status code, uvarint duration in ms, varint Unix nanoseconds of
//	CreatedAt and of those of FirstAt, Timestamp and NextAt that the flags name, then webhook id, event id, subject,
//	last error and response body, each with its uvarint length, then, if the flags say so, uvarint number of attempts
//	before the last one and for each its Unix nanoseconds, status code, duration and error, then the body up to the end

// deliveryEvents gives each public event its code on disk, which is its place: types are only ever added at the end.
var deliveryEvents = []core.EventType{
	core.EventExecutionStarted, core.EventExecutionCompleted, core.EventExecutionFailed, core.EventExecutionCancelled,
	core.EventAgentConnected, core.EventAgentDisconnected, core.EventAgentUnhealthy,
	core.EventPatternCreated, core.EventPatternUpdated, core.EventPatternDeleted, core.EventSystemAlert,
	core.EventPublicThreadBlocked, core.EventPublicThreadCompleted, core.EventPublicThreadFailed,
	core.EventManagedBlocked, core.EventManagedLogin, core.EventManagedFailed, core.EventExecutionDeleted,
}

// Flags of a delivery.
const (
	deliveryTest = 1 << iota
	deliveryFirst
	deliveryTimestamp
	deliveryNext
	deliveryFormer
)

// deliveryPlace is what of a delivery decides which index entries it has.
type deliveryPlace struct {
	number uint32 // of the webhook
	status byte
	event  byte
	next   int64  // NextAt in Unix nanoseconds, of a pending one
	needs  uint64 // sequence of the event that the body is made from while there may be attempts; 0 for none
	exists bool
}

const deliveryHeader = 8

// pendingStatus is the place of core.DeliveryPending in core.DeliveryStatuses.
var pendingStatus = byte(slices.Index(core.DeliveryStatuses, core.DeliveryPending))

// placeOf returns the place of a delivery whose status and event are known ones.
func placeOf(number uint32, d *core.Delivery) deliveryPlace {
	p := deliveryPlace{
		number: number, exists: true,
		status: byte(slices.Index(core.DeliveryStatuses, d.Status)), event: byte(slices.Index(deliveryEvents, d.Event)),
	}
	if d.NextAt != nil && d.Status == core.DeliveryPending {
		p.next = d.NextAt.UnixNano()
	}
	if len(d.Body) == 0 && needsEvent(d.Status) {
		p.needs = d.Seq
	}
	return p
}

// needsEvent reports whether attempts may follow in a status: those that failed may be retried by hand.
func needsEvent(s core.DeliveryStatus) bool {
	return s == core.DeliveryPending || s == core.DeliveryFailed
}

func appendDelivery(dst []byte, p deliveryPlace, d *core.Delivery) []byte {
	var flags byte
	if d.Test {
		flags |= deliveryTest
	}
	former := d.Former[max(0, len(d.Former)-core.MaxFormerAttempts):]
	if len(former) > 0 {
		flags |= deliveryFormer
	}
	times := []*time.Time{d.FirstAt, d.Timestamp, d.NextAt}
	for i, at := range times {
		if at != nil {
			flags |= deliveryFirst << i
		}
	}
	dst = append(dst, recordVersion, p.status, p.event, flags)
	dst = binary.BigEndian.AppendUint32(dst, p.number)
	dst = binary.AppendUvarint(dst, d.Seq)
	for _, n := range []int64{int64(d.Attempts), int64(d.Manual), int64(d.StatusCode), d.DurationMs} {
		dst = binary.AppendUvarint(dst, uint64(max(n, 0)))
	}
	dst = binary.AppendVarint(dst, d.CreatedAt.UnixNano())
	for _, at := range times {
		if at != nil {
			dst = binary.AppendVarint(dst, at.UnixNano())
		}
	}
	for _, s := range []string{d.WebhookID, d.EventID, d.Subject, d.LastError, d.ResponseBody} {
		dst = appendString(dst, s)
	}
	if len(former) > 0 {
		dst = binary.AppendUvarint(dst, uint64(len(former)))
	}
	for _, a := range former {
		dst = binary.AppendVarint(dst, a.At.UnixNano())
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(max(a.StatusCode, 0))), uint64(max(a.DurationMs, 0)))
		dst = appendString(dst, a.Error)
	}
	return append(dst, d.Body...)
}

// deliveryRecord is a delivery as it is stored.
type deliveryRecord struct {
	core.Delivery
	number uint32 // of its webhook
}

func (d *deliveryRecord) place() deliveryPlace { return placeOf(d.number, &d.Delivery) }

// decodeDelivery reads a value of v/.
func decodeDelivery(id string, b []byte) (d *deliveryRecord, err error) {
	if len(b) < deliveryHeader || b[0] != recordVersion || int(b[1]) >= len(core.DeliveryStatuses) || int(b[2]) >= len(deliveryEvents) {
		return nil, damaged("delivery", id, errRecord)
	}
	flags := b[3]
	d = &deliveryRecord{Delivery: core.Delivery{
		ID: id, Status: core.DeliveryStatuses[b[1]], Event: deliveryEvents[b[2]], Test: flags&deliveryTest != 0,
	}}
	d.number, b = binary.BigEndian.Uint32(b[4:]), b[deliveryHeader:]
	var counts [5]uint64
	for i := range counts {
		var n int
		if counts[i], n = binary.Uvarint(b); n <= 0 {
			return nil, damaged("delivery", id, errRecord)
		}
		b = b[n:]
	}
	d.Seq, d.Attempts, d.Manual, d.StatusCode, d.DurationMs = counts[0], int(counts[1]), int(counts[2]), int(counts[3]), int64(counts[4])
	times := [4]*time.Time{&d.CreatedAt}
	for i, into := range []**time.Time{&d.FirstAt, &d.Timestamp, &d.NextAt} {
		if flags&(deliveryFirst<<i) != 0 {
			*into = new(time.Time)
			times[i+1] = *into
		}
	}
	for _, at := range times {
		if at == nil {
			continue
		}
		nanos, n := binary.Varint(b)
		if n <= 0 {
			return nil, damaged("delivery", id, errRecord)
		}
		*at, b = time.Unix(0, nanos).UTC(), b[n:]
	}
	for _, s := range []*string{&d.WebhookID, &d.EventID, &d.Subject, &d.LastError, &d.ResponseBody} {
		if *s, b, err = cutString(b); err != nil {
			return nil, damaged("delivery", id, err)
		}
	}
	if flags&deliveryFormer != 0 {
		if d.Former, b, err = cutFormer(b); err != nil {
			return nil, damaged("delivery", id, err)
		}
	}
	if len(b) > 0 {
		d.Body = slices.Clone(b)
	}
	return d, nil
}

// cutFormer reads the attempts before the last one.
func cutFormer(b []byte) (list []core.DeliveryAttempt, rest []byte, err error) {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > core.MaxFormerAttempts {
		return nil, nil, errRecord
	}
	b = b[n:]
	for range count {
		nanos, n := binary.Varint(b)
		if n <= 0 {
			return nil, nil, errRecord
		}
		a := core.DeliveryAttempt{At: time.Unix(0, nanos).UTC()}
		b = b[n:]
		var numbers [2]uint64
		for i := range numbers {
			if numbers[i], n = binary.Uvarint(b); n <= 0 {
				return nil, nil, errRecord
			}
			b = b[n:]
		}
		a.StatusCode, a.DurationMs = int(numbers[0]), int64(numbers[1])
		if a.Error, b, err = cutString(b); err != nil {
			return nil, nil, err
		}
		list = append(list, a)
	}
	return list, b, nil
}

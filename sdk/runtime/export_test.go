package runtime

import (
	"google.golang.org/protobuf/proto"

	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
)

// DecodeSpec reads a spec as a plugin does; ok is false for what is no message.
func DecodeSpec(raw []byte) (spec Spec, ok bool) {
	var m pluginv1.Spec
	if proto.Unmarshal(raw, &m) != nil {
		return Spec{}, false
	}
	return specFromProto(&m), true
}

// EncodeSpec writes a spec as a host does.
func EncodeSpec(spec Spec) ([]byte, error) {
	m, err := specToProto(&spec)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// DecodeEvent reads an event as a host does, and writes it again as a plugin does.
func DecodeEvent(raw []byte) (event Event, again []byte, ok bool) {
	var m pluginv1.Event
	if proto.Unmarshal(raw, &m) != nil {
		return Event{}, nil, false
	}
	event = eventFromProto(&m)
	again, err := proto.MarshalOptions{Deterministic: true}.Marshal(eventToProto(&event))
	return event, again, err == nil
}

// EncodeEvent writes an event as a plugin does.
func EncodeEvent(event Event) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(eventToProto(&event))
}

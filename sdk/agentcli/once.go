package agentcli

import (
	"context"
	"fmt"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// once types what is no message, and does nothing if that was done under the same id before, by this process or an earlier
// one. DELIVERY_UNKNOWN if an earlier one ended within it; INVALID_ARGUMENT for an id of something else.
func (s *session) once(ctx context.Context, in *runtime.Input, typeIt func() error) error {
	if in.ID == "" {
		return typeIt()
	}
	r := inputRecord{ID: in.ID, Sum: textSum(fmt.Sprintf("%q %q %t", in.Raw, in.Keys, in.Interrupt)), Raw: true, State: inputTyping}
	done := false
	if _, err := ask(ctx, s, func() ([]Step, error) {
		known := s.delivery.inputs.find(in.ID)
		switch {
		case known == nil:
			return nil, s.delivery.beginRaw(r)
		case known.Sum != r.Sum:
			return nil, errOtherText()
		case known.State != inputSent:
			e := runtime.Errorf(runtime.CodeDeliveryUnknown, "the input may have been typed: the runtime ended meanwhile, or types it now")
			e.Hint = "look at the terminal before sending it again"
			return nil, e
		}
		done = true
		return nil, nil
	}); err != nil || done {
		return err
	}
	err := typeIt()
	switch e := runtime.AsError(err); {
	case err == nil:
		r.State = inputSent
	case e.Code == runtime.CodeTimeout && e.Retry || e.Code == runtime.CodeNotRunning || e.Code == runtime.CodeInvalidArgument: // nothing was typed
		r.State = inputFree
	default:
		r.State = inputUnknown
	}
	s.mail.post(func() {
		if err := s.delivery.inputs.put(r); err != nil {
			s.delivery.unrecorded(err)
		}
	})
	return err
}

// beginRaw notes that something is about to be typed: after a crash it must not be typed again.
func (d *delivery) beginRaw(r inputRecord) error {
	if d.s.over {
		return d.s.gone()
	}
	if err := d.inputs.put(r); err != nil {
		d.inputs.keep(inputRecord{ID: r.ID, State: inputFree})
		d.s.logger.Error("an input cannot be recorded", "error", err)
		return runtime.Errorf(runtime.CodeInternal, "the input cannot be recorded, so it was not typed")
	}
	return nil
}

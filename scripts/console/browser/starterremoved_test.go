package browser_test

import (
	"context"
	"fmt"
	"testing"
)

// What starts things, and was removed while it was looked at, is not offered to be changed.
func TestStarterRemovedWhileOpen(t *testing.T) {
	putUrgency(t)
	schedule, trigger := starters(t)
	for _, one := range []struct {
		name, path string
		remove     func(ctx context.Context, id string) error
		id         string
	}{
		{"schedule", "/schedules/", shared.Client.DeleteSchedule, schedule},
		{"trigger", "/triggers/", shared.Client.DeleteTrigger, trigger},
	} {
		t.Run(one.name, func(t *testing.T) {
			p := open(t, one.path+one.id)
			p.until("it, live", button("Remove")+" && "+live)
			p.away(true) // what is gone is an error to browsers
			if err := one.remove(t.Context(), one.id); err != nil {
				t.Fatal(err)
			}
			p.until("that it is gone", fmt.Sprintf(`[...document.querySelectorAll("main .notice.bad")].some((n) => n.innerText.includes("This %s was removed"))`, one.name))
			if p.holds(`[...document.querySelectorAll("main button")].some((b) => /Remove|Pause|Disable|Run now|What would/.test(b.innerText))`) {
				t.Error("what was removed is offered to be changed")
			}
		})
	}
}

package access_test

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// A client with a network of IPv6 addresses keeps no other from logging in, as one with an address does not.
func TestFloodOfGrants(t *testing.T) {
	p := newPeople(t)
	begin := func(address string) error {
		_, err := p.BeginGrant(t.Context(), core.GrantSpec{Challenge: base64.RawURLEncoding.EncodeToString(make([]byte, 32)), Address: address})
		return err
	}
	began := 0
	for i := range 2000 {
		if begin(fmt.Sprintf("2001:db8::%x", i)) == nil {
			began++
		}
	}
	if began != 20 {
		t.Errorf("one network began %d logins", began)
	}
	for _, address := range []string{"2001:db8:0:1::1", "192.0.2.1", ""} {
		if err := begin(address); err != nil {
			t.Errorf("%q: %v", address, err)
		}
	}
}

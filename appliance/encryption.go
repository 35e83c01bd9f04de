package appliance

import (
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/atrest/keyservice"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Encryption returns what opens the store of a configuration; nil for one in clear.
func Encryption(c *config.Config) *store.Encryption {
	a := c.Security.Encryption.AtRest
	if !a.Enabled {
		return nil
	}
	switch a.Provider {
	case config.KeyInVault:
		v := a.Vault
		return &store.Encryption{Names: a.Names, Source: keyservice.NewTransit(keyservice.Transit{
			Address: v.Address, Namespace: v.Namespace, CACert: v.CACert, Mount: v.Mount, Key: v.Key, Timeout: v.Timeout,
			Login: keyservice.TransitLogin(v.Auth),
		})}
	case config.KeyInKMS:
		return &store.Encryption{Names: a.Names, Source: keyservice.NewKMS(keyservice.KMS{
			Region: a.KMS.Region, Key: a.KMS.Key, Endpoint: a.KMS.Endpoint, Timeout: a.KMS.Timeout, Getenv: os.Getenv,
		})}
	case config.KeyFromEnvironment:
		return &store.Encryption{Names: a.Names, Source: atrest.FromEnvironment(a.Variable, a.KeyID)}
	case config.KeyFromSystemd:
		return &store.Encryption{Names: a.Names, Source: atrest.FromCredential(a.Credential, a.KeyID)}
	}
	return &store.Encryption{Names: a.Names, Source: atrest.FromFile(a.File, a.KeyID)}
}

// serverEncryption is Encryption of a start that tells of its progress.
func serverEncryption(c *config.Config, progress *startProgress) *store.Encryption {
	e := Encryption(c)
	if e != nil {
		e.Progress = func(done, total int64) { progress.report("encrypting the store", done, total) }
	}
	return e
}

// rotateStoreKey changes the keys of the store, for the operator of this machine.
func (a *App) rotateStoreKey(_ http.ResponseWriter, r *http.Request) (any, error) {
	st, err := a.store.RotateKey(r.Context())
	if err == nil {
		if err = a.stateKeys.rewrap(r.Context(), st.MasterKey); err != nil {
			err = fmt.Errorf("the keys of the store were changed, and the next start does the rest: %w", err)
		}
	}
	a.recordLocal(r, "store.key.rotate", err, map[string]any{"masterKey": st.MasterKey, "dataKey": st.DataKey})
	if err != nil {
		return nil, err
	}
	return storeKey(st), nil
}

func storeKey(st store.EncryptionStatus) wire.AdminStoreKey {
	return wire.AdminStoreKey{MasterKey: st.MasterKey, DataKey: st.DataKey, Resealing: st.Resealing, Done: st.Done, Total: st.Total}
}

// encryptionRow says how the store is encrypted.
func (a *App) encryptionRow() wire.StatusRow {
	row := wire.StatusRow{Kind: "encryption", Name: "store", Status: "ok", Message: "off: the store is in clear"}
	st := a.store.EncryptionStatus()
	if !st.Enabled {
		return row
	}
	row.Message = fmt.Sprintf("on: master key %s from %s, data key %d since %s", st.MasterKey, st.Source, st.DataKey, st.Since.Format(time.DateOnly))
	if !st.Names {
		row.Message += "; names in keys of the database are in clear"
	}
	switch {
	case st.Resealing && st.Failed != "":
		row.Status, row.Hint = "degraded", "it is tried again every minute"
		row.Message += "; records are still sealed by a former data key: " + st.Failed
	case st.Resealing:
		row.Message += fmt.Sprintf("; %d of %d records looked at to seal them anew", st.Done, st.Total)
	}
	return row
}

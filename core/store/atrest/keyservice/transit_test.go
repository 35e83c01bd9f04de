package keyservice_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/atrest/keyservice"
)

const rootToken = "root-of-the-test"

// vault is a real server with a transit engine and the method approle.
type vault struct {
	t       *testing.T
	address string
	cmd     *exec.Cmd
	roleID  string
	dir     string
}

func newVault(t *testing.T) *vault {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a Vault server")
	}
	dir := os.Getenv("WARDROOM_VAULT")
	if dir == "" {
		dir = "../../../../.cache/vault"
	}
	binary, err := filepath.Abs(filepath.Join(dir, "vault"))
	if err == nil {
		_, err = os.Stat(binary)
	}
	if err != nil {
		if os.Getenv("WARDROOM_REQUIRE_REAL") != "" {
			t.Fatalf("there is no Vault (make vault builds one, WARDROOM_VAULT names it): %v", err)
		}
		t.Skipf("there is no Vault (make vault builds one, WARDROOM_VAULT names it): %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := l.Addr().String()
	_ = l.Close()
	v := &vault{t: t, address: "http://" + listen, dir: t.TempDir()}
	v.cmd = exec.Command(binary, "server", "-dev", "-dev-root-token-id="+rootToken, "-dev-no-store-token", "-dev-listen-address="+listen)
	v.cmd.Env = []string{"HOME=" + v.dir}
	var log bytes.Buffer
	v.cmd.Stdout, v.cmd.Stderr = &log, &log
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.kill)
	for until := time.Now().Add(time.Minute); ; {
		resp, err := http.Get(v.address + "/v1/sys/health") //nolint:noctx // a test
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				break
			}
		}
		if time.Now().After(until) {
			v.kill()
			t.Fatalf("Vault does not start: %v\n%s", err, log.String())
		}
	}
	v.do("POST", "sys/mounts/transit", map[string]any{"type": "transit"})
	v.do("POST", "transit/keys/wardroom", map[string]any{"type": "aes256-gcm96"})
	v.do("POST", "transit/keys/next", map[string]any{"type": "aes256-gcm96"})
	v.do("POST", "sys/auth/approle", map[string]any{"type": "approle"})
	v.allow("wardroom", "next")
	v.do("POST", "auth/approle/role/wardroom", map[string]any{"token_policies": "wardroom", "token_ttl": "1h"})
	v.roleID, _ = v.do("GET", "auth/approle/role/wardroom/role-id", nil)["role_id"].(string)
	v.secretID()
	return v
}

func (v *vault) kill() {
	if v.cmd.ProcessState == nil {
		_ = v.cmd.Process.Kill()
		_ = v.cmd.Wait()
	}
}

// do makes a request as root, and returns the data of the answer.
func (v *vault) do(method, path string, in map[string]any) map[string]any {
	v.t.Helper()
	body, _ := json.Marshal(in)
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.address+"/v1/"+path, bytes.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("X-Vault-Token", rootToken)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode >= 300 {
		v.t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, text)
	}
	var out struct{ Data map[string]any }
	_ = json.Unmarshal(text, &out)
	return out.Data
}

// allow lets the role use keys, and no others.
func (v *vault) allow(keys ...string) {
	v.t.Helper()
	policy := ""
	for _, key := range keys {
		policy += fmt.Sprintf("path \"transit/encrypt/%s\" { capabilities = [\"update\"] }\npath \"transit/decrypt/%s\" { capabilities = [\"update\"] }\n", key, key)
	}
	v.do("PUT", "sys/policies/acl/wardroom", map[string]any{"policy": policy + "path \"sys/none\" { capabilities = [\"read\"] }"})
}

func (v *vault) file(name, text string) string {
	v.t.Helper()
	path := filepath.Join(v.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		v.t.Fatal(err)
	}
	return path
}

// secretID writes a new one.
func (v *vault) secretID() string {
	v.t.Helper()
	id, _ := v.do("POST", "auth/approle/role/wardroom/secret-id", map[string]any{})["secret_id"].(string)
	return v.file("secret-id", id+"\n")
}

func (v *vault) transit(key string) keyservice.Transit {
	return keyservice.Transit{
		Address: v.address, Mount: "transit", Key: key, Timeout: 10 * time.Second,
		Login: keyservice.TransitLogin{Method: keyservice.LoginAppRole, RoleID: v.roleID, SecretIDFile: filepath.Join(v.dir, "secret-id")},
	}
}

func (v *vault) key(name string) atrest.KeySource { return keyservice.NewTransit(v.transit(name)) }

func TestTransit(t *testing.T) {
	v := newVault(t)
	t.Run("AppRole", func(t *testing.T) {
		w, err := roundTrip(t, v.key("wardroom"))
		if err != nil || w.KeyID != "transit/wardroom:v1" {
			t.Fatalf("%+v, %v", w, err)
		}
		if _, err := v.key("next").Unwrap(t.Context(), w, "one thing"); err != nil {
			t.Errorf("the configuration names the next key: %v", err)
		}
	})
	t.Run("Token", func(t *testing.T) {
		with := v.transit("wardroom")
		with.Login = keyservice.TransitLogin{Method: keyservice.LoginToken, TokenFile: v.file("token", rootToken)}
		if _, err := roundTrip(t, keyservice.NewTransit(with)); err != nil {
			t.Error(err)
		}
	})
	t.Run("TokenEnded", func(t *testing.T) { // it logs in again
		source := v.key("wardroom")
		if _, err := roundTrip(t, source); err != nil {
			t.Fatal(err)
		}
		list, _ := v.do("LIST", "auth/token/accessors", nil)["keys"].([]any)
		for _, accessor := range list {
			info := v.do("POST", "auth/token/lookup-accessor", map[string]any{"accessor": accessor})
			if path, _ := info["path"].(string); strings.HasPrefix(path, "auth/approle") {
				v.do("POST", "auth/token/revoke-accessor", map[string]any{"accessor": accessor})
			}
		}
		if _, err := roundTrip(t, source); err != nil {
			t.Errorf("after its token was revoked: %v", err)
		}
	})
	t.Run("Faults", v.faults)
	t.Run("Ring", v.ring)
	t.Run("Sealed", func(t *testing.T) {
		v.do("PUT", "sys/seal", nil)
		if _, err := v.key("wardroom").Wrap(t.Context(), make([]byte, 32), "x"); !errors.Is(err, atrest.ErrKey) || !strings.Contains(err.Error(), "is sealed") {
			t.Errorf("%v", err)
		}
	})
	t.Run("Down", func(t *testing.T) {
		v.kill()
		if _, err := v.key("wardroom").Wrap(t.Context(), make([]byte, 32), "x"); !errors.Is(err, atrest.ErrKey) || !strings.Contains(err.Error(), "cannot be reached") {
			t.Errorf("%v", err)
		}
	})
}

// faults are told by what they mean, and never with a credential or the key.
func (v *vault) faults(t *testing.T) {
	ctx := t.Context()
	wrapped, err := v.key("wardroom").Wrap(ctx, bytes.Repeat([]byte("K3y!"), 8), "one thing")
	if err != nil {
		t.Fatal(err)
	}
	v.do("POST", "transit/keys/gone", map[string]any{})
	v.do("POST", "transit/keys/gone/config", map[string]any{"deletion_allowed": true})
	v.allow("wardroom", "next", "gone")
	gone, err := v.key("gone").Wrap(ctx, make([]byte, 32), "one thing")
	if err != nil {
		t.Fatal(err)
	}
	v.do("DELETE", "transit/keys/gone", nil)
	changed := atrest.Wrapped{KeyID: wrapped.KeyID, Data: bytes.Clone(wrapped.Data)}
	for _, at := range []int{len(changed.Data) - 8} {
		changed.Data[at] = "AB"[b2i(changed.Data[at] == 'A')]
	}
	badID := v.file("bad-secret-id", "no-such-id")
	for name, tt := range map[string]struct {
		change func(k *keyservice.Transit)
		unwrap atrest.Wrapped
		want   string
	}{
		"Denied":     {func(k *keyservice.Transit) { k.Key = "forbidden" }, atrest.Wrapped{}, `allow ` + "`" + `path "transit/encrypt/forbidden"`},
		"NoEngine":   {func(k *keyservice.Transit) { k.Mount = "nowhere"; k.Login = v.root() }, atrest.Wrapped{}, "has no transit engine at nowhere"},
		"Deleted":    {nil, gone, "has no key transit/gone"},
		"Changed":    {nil, changed, "encrypted by another key of that name, or changed"},
		"Swapped":    {nil, atrest.Wrapped{KeyID: "transit/next:v1", Data: wrapped.Data}, "encrypted by another key of that name, or changed"},
		"OfAFile":    {nil, atrest.Wrapped{KeyID: "0123456789abcdef", Data: []byte("x")}, "no key of Vault"},
		"Climbs":     {nil, atrest.Wrapped{KeyID: "transit/../sys/seal:v1", Data: wrapped.Data}, "no key of Vault"},
		"NoLogin":    {func(k *keyservice.Transit) { k.Login.SecretIDFile = "/no/such" }, atrest.Wrapped{}, "the file of auth.secretIdFile, /no/such"},
		"WrongLogin": {func(k *keyservice.Transit) { k.Login.SecretIDFile = badID }, atrest.Wrapped{}, "refuses the login at auth/approle"},
		"WrongToken": {func(k *keyservice.Transit) {
			k.Login = keyservice.TransitLogin{Method: keyservice.LoginToken, TokenFile: badID}
		}, atrest.Wrapped{}, "does not know the token"},
	} {
		t.Run(name, func(t *testing.T) {
			k := v.transit("wardroom")
			if tt.change != nil {
				tt.change(&k)
			}
			source := keyservice.NewTransit(k)
			var err error
			if tt.unwrap.KeyID != "" {
				_, err = source.Unwrap(ctx, tt.unwrap, "one thing")
			} else {
				_, err = source.Wrap(ctx, bytes.Repeat([]byte("K3y!"), 8), "one thing")
			}
			if !errors.Is(err, atrest.ErrKey) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, want %q", err, tt.want)
			}
			for _, secret := range []string{"K3y!", rootToken, "no-such-id"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error tells %s", secret)
				}
			}
		})
	}
	v.do("POST", "transit/keys/wardroom/rotate", nil)
	v.do("POST", "transit/keys/wardroom/config", map[string]any{"min_decryption_version": 2})
	if _, err := v.key("wardroom").Unwrap(ctx, wrapped, "one thing"); !errors.Is(err, atrest.ErrKey) || !strings.Contains(err.Error(), "min_decryption_version") {
		t.Errorf("a version that is not used any more: %v", err)
	}
	v.do("POST", "transit/keys/wardroom/config", map[string]any{"min_decryption_version": 1})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (v *vault) root() keyservice.TransitLogin {
	return keyservice.TransitLogin{Method: keyservice.LoginToken, TokenFile: v.file("token", rootToken)}
}

// ring rotates a store's keys with the key in Vault, and with the one that the configuration names next.
func (v *vault) ring(t *testing.T) {
	ctx, now := t.Context(), time.Now()
	var saved []byte
	save := func(data []byte) error { saved = bytes.Clone(data); return nil }
	ring, err := atrest.NewRing(ctx, v.key("wardroom"), true, now, save)
	if err != nil {
		t.Fatal(err)
	}
	before := ring.Status().MasterKey
	v.do("POST", "transit/keys/wardroom/rotate", nil)
	if err := ring.Rotate(ctx, now); err != nil || ring.Status().MasterKey == before {
		t.Errorf("the newest version is not used: %+v, %v", ring.Status(), err)
	}
	held := bytes.Clone(saved)
	v.allow("next")
	if err := ring.Rotate(ctx, now); !errors.Is(err, atrest.ErrKey) || !bytes.Equal(saved, held) {
		t.Errorf("rotation without the right: %v", err)
	}
	if _, err := atrest.OpenRing(ctx, v.key("next"), saved, save); !errors.Is(err, atrest.ErrKey) || !bytes.Equal(saved, held) {
		t.Errorf("opened without the right: %v", err)
	}
	v.allow("wardroom", "next")
	if ring, err = atrest.OpenRing(ctx, v.key("next"), saved, save); err != nil {
		t.Fatal(err)
	}
	if err := ring.Rotate(ctx, now); err != nil || ring.Status().MasterKey != "transit/next:v1" {
		t.Fatalf("%+v, %v", ring.Status(), err)
	}
	v.allow("next") // the former key is not needed any more
	if _, err := atrest.OpenRing(ctx, v.key("next"), saved, save); err != nil {
		t.Errorf("after the rotation: %v", err)
	}
}

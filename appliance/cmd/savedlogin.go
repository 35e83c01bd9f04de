package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// savedLogin is the credential that `wardroom login` keeps for a context, in a file of its own that others cannot read.
type savedLogin struct {
	Server    string    `json:"server"` // the only one that it is sent to
	Token     string    `json:"token"`
	SessionID string    `json:"sessionId"`
	User      string    `json:"user"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// loginPath is where the login of a context lies.
func (all *contexts) loginPath(name string) string {
	return filepath.Join(filepath.Dir(all.path), "logins", name+".json")
}

// readLogin returns the login of a context; nil if there is none, or it is of another server than the context's.
func (all *contexts) readLogin(name string) (*savedLogin, error) {
	path := all.loginPath(name)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, &usageError{
			message: path + " can be read by others", hint: fmt.Sprintf("make it a file of mode 0600, or sign in again with `wardroom login --context %s`", name),
		}
	}
	saved := new(savedLogin)
	if err := json.NewDecoder(f).Decode(saved); err != nil {
		return nil, &usageError{message: path + " cannot be read as a login", hint: fmt.Sprintf("sign in again with `wardroom login --context %s`", name)}
	}
	if saved.Server != all.Contexts[name].Server {
		return nil, nil
	}
	return saved, nil
}

// writeLogin keeps the login of a context.
func (all *contexts) writeLogin(name string, login *savedLogin) error {
	path := all.loginPath(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	data, err := json.Marshal(login)
	if err != nil {
		return err
	}
	return replaceFile(path, data)
}

// removeLogin forgets the login of a context; that there is none is no error.
func (all *contexts) removeLogin(name string) error {
	if err := os.Remove(all.loginPath(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// replaceFile replaces a file, which others cannot read, at once.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what remains of the failure
	}
	return err
}

// credential returns what a context is reached with; "" for none.
func (c *cli) credential(name string, all *contexts) (string, error) {
	if path := all.Contexts[name].TokenFile; path != "" {
		return c.readToken(path)
	}
	saved, err := all.readLogin(name)
	if err != nil || saved == nil {
		return "", err
	}
	if !c.now().Before(saved.ExpiresAt) {
		return "", &outcomeError{
			code: exitAuth, message: fmt.Sprintf("the login of the context %s ended at %s", name, saved.ExpiresAt.Local().Format(time.DateTime)),
			hint: fmt.Sprintf("sign in again with `wardroom login --context %s`", name),
		}
	}
	return saved.Token, nil
}

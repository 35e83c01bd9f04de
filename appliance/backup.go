package appliance

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/audit"
	"github.com/wardroom/wardroom/core/backup"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/sdk/wire"
)

// maxBackupFile bounds a file beside the store that a backup takes along, in bytes.
const maxBackupFile = 1 << 20

// sendBackup streams an archive of the running server. With secrets=true it has the keys of the store and the configuration
// as it stands in its files. With seal=true the answer has the envelope that the caller is to encrypt the archive by, and the
// secrets with it, if the store is encrypted. Without both, the configuration in effect with its secrets hidden. An archive that fails on the way
// ends without its last entry, which marks it as incomplete, and so does one whose reader takes nothing for server.stallTimeout.
func (a *App) sendBackup(w http.ResponseWriter, r *http.Request) {
	secrets := false
	switch r.URL.Query().Get("secrets") {
	case "true":
		secrets = true
	case "", "false":
	default:
		writeAdminError(w, core.Invalid("secrets", "must be true or false"))
		return
	}
	var envelope string
	switch r.URL.Query().Get("seal") {
	case "true":
		e, encrypted, err := a.store.FileEnvelope(r.Context())
		if err != nil {
			a.log.Error("the backup could not be begun", "error", err)
			writeAdminError(w, err)
			return
		}
		if encrypted {
			text, err := json.Marshal(e)
			if err != nil {
				writeAdminError(w, err)
				return
			}
			secrets, envelope = true, base64.StdEncoding.EncodeToString(text)
		}
	case "", "false":
	default:
		writeAdminError(w, core.Invalid("seal", "must be true or false"))
		return
	}
	if !a.backups.TryLock() {
		writeAdminError(w, core.Errorf(core.CodeConflict, "another backup is being made; wait for it"))
		return
	}
	defer a.backups.Unlock()
	files, err := a.backupFiles(secrets)
	if err != nil {
		a.log.Error("the backup could not be begun", "error", err)
		writeAdminError(w, core.Errorf(core.CodeConflict, "%s", err))
		return
	}
	if envelope != "" {
		w.Header().Set(wire.AdminSealHeader, envelope)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	started := a.clock.Now()
	out := api.NewStallingWriter(w, a.config.Load().Server.StallTimeout) // or who reads nothing would keep others from a backup
	defer out.Close()
	archive, err := backup.NewWriter(out, backup.Meta{
		Version: a.opts.Version, CreatedAt: started, StorePath: a.config.Load().Store.Path, Secrets: secrets,
	}, files)
	if err == nil {
		sum, failed := a.store.Dump(r.Context(), archive, nil)
		if err = failed; err == nil {
			if err = archive.Close(); err == nil {
				a.recordLocal(r, "store.backup", nil, map[string]any{"secrets": secrets, "records": sum.Records})
				a.log.Info("a backup was made", "records", sum.Records, "bytes", sum.Bytes, "took", a.clock.Now().Sub(started))
				return
			}
		}
	}
	a.recordLocal(r, "store.backup", err, nil)
	a.log.Error("the backup failed", "error", err)
	panic(http.ErrAbortHandler) // the reader must see that the answer has no end
}

// backupFiles returns what goes along with the store.
func (a *App) backupFiles(secrets bool) (files []backup.File, err error) {
	c := a.config.Load()
	add := func(path, name string) error {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.Mode().IsRegular() || info.Size() > maxBackupFile:
			return fmt.Errorf("%s is no file of at most %s", path, config.FormatSize(maxBackupFile))
		}
		data, err := os.ReadFile(path)
		if err == nil {
			files = append(files, backup.File{Name: name, Data: data})
		}
		return err
	}
	if !secrets {
		text, err := config.Show(c)
		if err != nil {
			return nil, err
		}
		return []backup.File{{Name: "config/effective.yaml", Data: text}}, nil
	}
	for _, name := range []string{threadKeyFile, webhookKeyFile, scheduleKeyFile, triggerKeyFile, stateKeyFile, pepperFile, audit.KeyFile} {
		if err := add(filepath.Join(c.Store.Path, name), "keys/"+name); err != nil {
			return nil, err
		}
	}
	for i, path := range c.Files() {
		name := "config/" + filepath.Base(path)
		if i > 0 {
			name = "config/" + config.DropInDir + "/" + filepath.Base(path)
		}
		if err := add(path, name); err != nil {
			return nil, err
		}
	}
	return files, nil
}

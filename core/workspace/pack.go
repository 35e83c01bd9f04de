package workspace

import (
	"context"
	"os"
	"time"
)

// maxPacks is how many packs a mirror may gather before they are joined: each fetch adds one, and git looks into all.
const maxPacks = 20

// joinPacks joins the packs of mirrors that have many. Unlike git gc this drops nothing, whether anything refers to it or
// not: the index of a worktree may be all that knows an object. Partial and shallow copies are left as they are.
func (s *Service) joinPacks(ctx context.Context) error {
	if s.GitState() != nil {
		return nil
	}
	for _, m := range s.knownMirrors() {
		if len(glob(m.dir, "objects/pack/pack-*.pack")) <= maxPacks || m.Filter != "" || m.Depth > 0 {
			continue
		}
		if err := m.joinPacks(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.log.Warn("the packs of a mirror were not joined", "mirror", m.URL, "error", err) // it works with many, only slower
		}
	}
	return nil
}

func (m *mirror) joinPacks(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.s.config().FetchTimeout)
	defer cancel()
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if !m.exists() {
		return nil
	}
	if err := m.secure(); err != nil {
		return err
	}
	_, err = m.git(ctx, nil, "repack", "--geometric=2", "-d", "--quiet")
	return err
}

// staleHalf is the age from which a half pack is one that a killed git left: one that lives writes on.
const staleHalf = 24 * time.Hour

// clearHalfPacks removes the half packs of mirrors, which git itself removes in a collection only.
func (s *Service) clearHalfPacks() {
	for _, m := range s.knownMirrors() {
		for _, path := range append(glob(m.dir, "objects/pack/tmp_*"), glob(m.dir, "objects/pack/.tmp-*")...) {
			// The file carries the real time, whatever our clock is set to.
			info, err := os.Lstat(path)
			if err != nil || time.Since(info.ModTime()) < staleHalf {
				continue
			}
			if err := os.Remove(path); err != nil {
				s.log.Warn("half a pack of a mirror was not removed", "mirror", m.URL, "path", path, "error", err)
			}
		}
	}
}

package codecache

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// This file keeps plans: what was decided for a graph before its code was built, by all that it was decided from. A plan
// is no code, but says which code is called and on which memory, so that it is trusted as little: it has an entry's
// form and hashes, and is compared with both.

// Plan is the kind of such an entry.
const Plan = "plan"

const (
	planSuffix = ".plan"
	codeSuffix = ".so"
)

// Plan is what was kept for these parts, in memory that room makes for so many bytes; nil where there is nothing, or nothing
// that can be trusted.
func (c *Cache) Plan(parts []string, room func(n int) []byte) []byte {
	sum := made(parts)
	name := entryName(Plan, sum)
	content, err := c.verified(name, sum)
	if err == nil {
		content, err = unsqueezed(content, room)
	}
	switch {
	case err == nil:
		c.used(name)
		return content
	case !errors.Is(err, fs.ErrNotExist):
		c.DropPlan(parts, err)
	}
	return nil
}

// DropPlan removes a plan that is not used, and says why.
func (c *Cache) DropPlan(parts []string, why error) {
	name := entryName(Plan, made(parts))
	c.warn("the plan %s is not used (%v): it is made again", filepath.Join(c.dir, name), why)
	_ = c.root.Remove(name)
}

// KeepPlan keeps a plan: whole or not at all.
func (c *Cache) KeepPlan(parts []string, content []byte) error {
	if len(content) > maxText {
		return fmt.Errorf("a plan of %d bytes is too large", len(content))
	}
	sum := made(parts)
	name := entryName(Plan, sum)
	dir, err := c.buildDir(name)
	if err != nil {
		return err
	}
	defer func() { _ = c.root.RemoveAll(dir) }()
	part := dir + "/" + name
	content = sealed(squeezed(content), sum)
	if err := c.root.WriteFile(part, content, 0o600); err != nil {
		return err
	}
	if err := c.root.Rename(part, name); err != nil {
		return err
	}
	c.added(name, int64(len(content)))
	return nil
}

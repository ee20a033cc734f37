package codecache

import (
	"encoding/binary"
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

// Later is a part of a plan that is read when it is asked for. Its form was looked at: reading it cannot fail.
type Later struct {
	in   []byte
	size int
}

// Len is how many bytes Read gives.
func (l Later) Len() int { return l.size }

// Read is the part, in memory that room makes for so many bytes.
func (l Later) Read(room func(n int) []byte) []byte { return unsqueezed(l.in, room(l.size)) }

// PlanSum is what a plan is kept by: a hash of all that it depends on.
func PlanSum(parts []string) [32]byte { return made(parts) }

// Plan is what was kept under a sum; ok is false where there is nothing, or nothing that can be trusted.
func (c *Cache) Plan(sum [32]byte) (head []byte, rest Later, ok bool) {
	name := entryName(Plan, sum)
	content, err := c.verified(name, sum)
	if err == nil {
		head, rest, err = planParts(content)
	}
	switch {
	case err == nil:
		c.used(name)
		return head, rest, true
	case !errors.Is(err, fs.ErrNotExist):
		c.DropPlan(sum, err)
	}
	return nil, Later{}, false
}

// planParts takes apart what joined has written.
func planParts(content []byte) (head []byte, rest Later, err error) {
	n, at := binary.Uvarint(content)
	if at <= 0 || n > uint64(len(content)-at) {
		return nil, rest, errSqueezed
	}
	first := Later{in: content[at:][:n]}
	rest.in = content[at:][n:]
	if first.size, err = squeezedSize(first.in); err != nil {
		return nil, rest, err
	}
	if rest.size, err = squeezedSize(rest.in); err != nil {
		return nil, rest, err
	}
	return first.Read(func(n int) []byte { return make([]byte, n) }), rest, nil
}

// joined is both parts of a plan, squeezed, behind the length of the first.
func joined(head, rest []byte) []byte {
	first := squeezed(head)
	return append(append(binary.AppendUvarint(nil, uint64(len(first))), first...), squeezed(rest)...)
}

// DropPlan removes a plan that is not used, and says why.
func (c *Cache) DropPlan(sum [32]byte, why error) {
	name := entryName(Plan, sum)
	c.warn("the plan %s is not used (%v): it is made again", filepath.Join(c.dir, name), why)
	_ = c.root.Remove(name)
}

// KeepPlan keeps a plan: whole or not at all. Rest is what is not needed at once.
func (c *Cache) KeepPlan(sum [32]byte, head, rest []byte) error {
	if n := max(len(head), len(rest)); n > maxText {
		return fmt.Errorf("a plan of %d bytes is too large", n)
	}
	name := entryName(Plan, sum)
	dir, err := c.buildDir(name)
	if err != nil {
		return err
	}
	defer func() { _ = c.root.RemoveAll(dir) }()
	part := dir + "/" + name
	content := sealed(joined(head, rest), sum)
	if err := c.root.WriteFile(part, content, 0o600); err != nil {
		return err
	}
	if err := c.root.Rename(part, name); err != nil {
		return err
	}
	c.added(name, int64(len(content)))
	return nil
}

package codecache

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
)

// This file is a cache as a whole: what is in it, emptying it, and entries as one file that another machine of the
// same kind takes. Such a file holds code that will be executed: hashes tell that it is whole, not who made it.

// Info is one entry of a cache.
type Info struct {
	Name, Kind string
	Size       int64     // bytes
	Used       time.Time // to within usedAgain
}

// List is the entries of the cache in dir, the last used first; none where there is no cache.
func List(dir string) ([]Info, error) {
	root, err := openTrusted(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	var out []Info
	for _, f := range (&Cache{root: root}).files() {
		out = append(out, infoOf(f))
	}
	slices.SortFunc(out, func(a, b Info) int {
		if d := b.Used.Compare(a.Used); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out, nil
}

// Clear removes the entries of the cache in dir, and the notes beside them, and returns what the entries were. A program
// that has loaded one keeps it.
func Clear(dir string) ([]Info, error) {
	entries, err := List(dir)
	if err != nil {
		return nil, err
	}
	root, err := openTrusted(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	(&Cache{dir: dir, root: root}).dropNotes(0)
	for i, e := range entries {
		if err := root.Remove(e.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return entries[:i], err
		}
	}
	return entries, nil
}

const (
	manifestName  = "tcdbg-cache.json"
	formatVersion = 1
	maxManifest   = 1 << 20
	maxEntries    = 1 << 16
)

// manifest is the first file of an archive.
type manifest struct {
	Version int    `json:"version"`
	Machine string `json:"machine"` // compiler and processor, as Parts have them
}

// Export writes the whole entries of the cache in dir to w, and the notes beside them, for machines with the compiler and the
// processor that machine names. skipped are entries that are damaged. Plans stay: lines of the program's source are in them.
func Export(dir, machine string, w io.Writer) (out []Info, skipped int, err error) {
	entries, err := List(dir)
	if err != nil {
		return nil, 0, err
	}
	entries = slices.DeleteFunc(entries, func(e Info) bool { return e.Kind == Plan })
	root, err := openTrusted(dir)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = root.Close() }()
	c := &Cache{dir: dir, root: root}
	for _, note := range c.notes() {
		entries = append(entries, infoOf(note))
	}
	return c.export(entries, machine, w)
}

// ExportLoaded writes the entries and notes that were loaded through c, or made, and are still there and whole, as Export
// does; nothing where there are none.
func (c *Cache) ExportLoaded(machine string, w io.Writer) ([]Info, error) {
	c.mu.Lock()
	names := append(slices.Sorted(maps.Keys(c.loaded)), slices.Sorted(maps.Keys(c.noted))...)
	c.mu.Unlock()
	var entries []Info
	for _, name := range names {
		if st, err := c.root.Lstat(name); err == nil {
			entries = append(entries, infoOf(st))
		}
	}
	if len(entries) == 0 {
		return nil, nil
	}
	out, _, err := c.export(entries, machine, w)
	return out, err
}

// infoOf is an entry by its file.
func infoOf(st fs.FileInfo) Info {
	kind, _, _ := strings.Cut(st.Name(), "-")
	return Info{st.Name(), kind, st.Size(), st.ModTime()}
}

// export writes those of some entries that are whole.
func (c *Cache) export(entries []Info, machine string, w io.Writer) (out []Info, skipped int, err error) {
	z := zip.NewWriter(w)
	head, err := json.Marshal(manifest{formatVersion, machine})
	if err != nil {
		return nil, 0, err
	}
	if err := store(z, manifestName, head); err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		content, err := c.whole(e.Name)
		if err != nil {
			skipped++
			continue
		}
		if err := store(z, e.Name, content); err != nil {
			return nil, 0, err
		}
		out = append(out, e)
	}
	return out, skipped, z.Close()
}

func store(z *zip.Writer, name string, content []byte) error {
	f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return err
}

// whole is the bytes of an entry, which has the hashes that it should.
func (c *Cache) whole(name string) ([]byte, error) {
	if isNote(name) {
		return c.wholeNote(name)
	}
	sum, err := c.madeOf(name)
	if err != nil {
		return nil, err
	}
	if err := c.verify(name, sum); err != nil {
		return nil, err
	}
	return c.root.ReadFile(name)
}

// madeOf is the hash of the parts that an entry says it was made of.
func (c *Cache) madeOf(name string) (sum [32]byte, err error) {
	f, err := c.root.Open(name)
	if err != nil {
		return sum, err
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(-2*sha256.Size, io.SeekEnd); err != nil {
		return sum, err
	}
	_, err = io.ReadFull(f, sum[:])
	return sum, err
}

// ErrOtherMachine says that an archive is of a machine whose code is not used here.
var ErrOtherMachine = errors.New("its code is for another compiler or processor")

// Import adds the entries of an archive of size bytes to the cache in dir, which it makes. Nothing is added
// unless all of it is as Export writes it; entries that are there stay. there are those.
func Import(dir, machine string, r io.ReaderAt, size int64) (added, there []Info, err error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, nil, fmt.Errorf("it is no archive of tcdbg cache export: %w", err)
	}
	contents, err := unpack(z, machine)
	if err != nil {
		return nil, nil, err
	}
	c, err := Open(dir, 0, func(string, ...any) {})
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	for i, f := range z.File[1:] {
		if st, err := c.root.Lstat(f.Name); err == nil {
			there = append(there, infoOf(st))
			continue
		}
		if err := c.adopt(f.Name, contents[i]); err != nil {
			return added, there, err
		}
		kind, _, _ := strings.Cut(f.Name, "-")
		added = append(added, Info{f.Name, kind, int64(len(contents[i])), time.Now()})
	}
	return added, there, nil
}

// unpack reads all entries of an archive and checks each.
func unpack(z *zip.Reader, machine string) ([][]byte, error) {
	if len(z.File) == 0 || z.File[0].Name != manifestName || len(z.File) > maxEntries {
		return nil, errors.New("it is no archive of tcdbg cache export")
	}
	head, err := inflate(z.File[0], maxManifest)
	if err != nil {
		return nil, err
	}
	var m manifest
	if err := json.Unmarshal(head, &m); err != nil || m.Version != formatVersion {
		return nil, fmt.Errorf("its format is of version %d, and this tcdbg reads %d", m.Version, formatVersion)
	}
	if m.Machine != machine {
		return nil, ErrOtherMachine
	}
	left, seen := int64(DefaultLimit), map[string]bool{}
	var out [][]byte
	for _, f := range z.File[1:] {
		content, err := inflate(f, min(left, maxEntry))
		if err != nil {
			return nil, err
		}
		if seen[f.Name] {
			return nil, fmt.Errorf("%q is in it twice", f.Name)
		}
		seen[f.Name] = true
		if err := wholeEntry(f.Name, content); err != nil {
			return nil, fmt.Errorf("%q: %w", f.Name, err)
		}
		left -= int64(len(content))
		out = append(out, content)
	}
	return out, nil
}

// inflate reads a file of an archive, of so many bytes at most.
func inflate(f *zip.File, most int64) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%q: %w", f.Name, err)
	}
	defer func() { _ = r.Close() }()
	content, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, fmt.Errorf("%q: %w", f.Name, err)
	}
	if int64(len(content)) > most {
		return nil, fmt.Errorf("%q is larger than a cache may be", f.Name)
	}
	return content, nil
}

// wholeEntry checks the bytes of an entry against its name and its hashes.
func wholeEntry(name string, content []byte) error {
	if isNote(name) {
		_, err := noteOf(name, content)
		return err
	}
	if len(content) <= trailerSize {
		return errDamaged
	}
	body, all := content[:len(content)-sha256.Size], content[len(content)-sha256.Size:]
	if got := sha256.Sum256(body); !bytes.Equal(got[:], all) {
		return errDamaged
	}
	head, sum := body[:len(body)-sha256.Size], [32]byte(body[len(body)-sha256.Size:])
	if !bytes.HasSuffix(head, []byte(magic)) {
		return errDamaged
	}
	kind, rest, ok := strings.Cut(name, "-")
	if !ok || kind != "graph" && kind != Runtime || rest != hex.EncodeToString(sum[:16])+codeSuffix {
		return errors.New("it is no entry of a cache")
	}
	return nil
}

// adopt adds an entry that was made elsewhere: whole or not at all.
func (c *Cache) adopt(name string, content []byte) error {
	dir, err := c.buildDir(name)
	if err != nil {
		return err
	}
	defer func() { _ = c.root.RemoveAll(dir) }()
	part := dir + "/" + name
	if err := c.root.WriteFile(part, content, 0o600); err != nil {
		return err
	}
	if err := c.root.Rename(part, name); err != nil {
		return err
	}
	if !isNote(name) { // which are counted, not weighed
		c.added(name, int64(len(content)))
	}
	return nil
}

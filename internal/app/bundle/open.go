package bundle

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tcdbg/logs/regular"
)

// This file opens a bundle. It may be a stranger's: nothing is written but the members that
// its manifest names, into a folder of ours, and no more than a bundle may hold.

// Bundle is an open bundle.
type Bundle struct {
	Manifest
	Paths []string // the unpacked traces

	dir   string
	files map[string]unpacked // by the name of the source file in the trace
}

// unpacked is a source file.
type unpacked struct {
	path string
	kept [][2]int // lines; nil: all
}

// Is says whether a file is a bundle: a zip with a manifest of ours.
func Is(path string) bool {
	f, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	var head [4]byte
	if _, err := io.ReadFull(f, head[:]); err != nil || string(head[:]) != "PK\x03\x04" {
		return false
	}
	st, err := f.Stat()
	if err != nil {
		return false
	}
	z, err := zip.NewReader(f, st.Size())
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return false
	}
	for _, m := range z.File {
		if m.Name == manifestName {
			return true
		}
	}
	return false
}

// Open unpacks a bundle into a temporary folder, which CleanUp removes.
func Open(path string) (*Bundle, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b, err := unpack(f, st.Size())
	if err != nil {
		return nil, fmt.Errorf("%s is no bundle that can be opened: %w", filepath.Base(path), err)
	}
	return b, nil
}

func unpack(f io.ReaderAt, size int64) (*Bundle, error) {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil, err
	}
	members, err := inventory(z)
	if err != nil {
		return nil, err
	}
	text, err := readAll(members[manifestName], maxManifest)
	if err != nil {
		return nil, err
	}
	m, err := readManifest(text)
	if err != nil {
		return nil, err
	}
	dir, err := opened.make()
	if err != nil {
		return nil, err
	}
	b := &Bundle{Manifest: *m, dir: dir, files: map[string]unpacked{}}
	if err := b.fill(members, allowance(size)); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// fill unpacks the members of the manifest, to no more than left bytes.
func (b *Bundle) fill(members map[string]*zip.File, left int64) error {
	for _, e := range b.Traces {
		at, err := b.unpackMember(members[e.File], e.File, &left)
		if err != nil {
			return err
		}
		b.Paths = append(b.Paths, at)
	}
	left = min(left, maxSources)
	for _, e := range b.Sources {
		at, err := b.unpackMember(members[e.File], e.File, &left)
		if err != nil {
			return err
		}
		b.files[e.Name] = unpacked{at, e.Kept}
	}
	return nil
}

// inventory is the members by name. Each is a plain file with a name that bundles have.
func inventory(z *zip.Reader) (map[string]*zip.File, error) {
	if len(z.File) > maxMembers {
		return nil, fmt.Errorf("it has %d members, at most %d are read", len(z.File), maxMembers)
	}
	members := map[string]*zip.File{}
	for _, f := range z.File {
		switch {
		case members[f.Name] != nil:
			return nil, fmt.Errorf("it has %q twice", f.Name)
		case !f.Mode().IsRegular():
			return nil, fmt.Errorf("its member %q is no plain file", f.Name)
		case f.Name != manifestName && f.Name != reportName && !memberFile.MatchString(f.Name):
			return nil, fmt.Errorf("it has a member %q, which no bundle has", f.Name)
		}
		members[f.Name] = f
	}
	return members, nil
}

// allowance is how many bytes a bundle of a size may unpack to.
func allowance(packed int64) int64 {
	if packed > maxTotal/maxRatio {
		return maxTotal
	}
	return max(packed*maxRatio, smallTotal)
}

// unpackMember writes a member to its place in our folder. What it says of its size is not
// believed.
func (b *Bundle) unpackMember(f *zip.File, name string, left *int64) (path string, err error) {
	if f == nil {
		return "", fmt.Errorf("it lacks the member %q", name)
	}
	path = filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	in, err := f.Open()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	n, err := io.Copy(out, io.LimitReader(in, *left+1))
	if err = errors.Join(err, out.Close()); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if *left -= n; *left < 0 {
		return "", errors.New("it unpacks to more than a bundle of its size does")
	}
	return path, nil
}

func readAll(f *zip.File, most int64) (text []byte, err error) {
	if f == nil {
		return nil, fmt.Errorf("it has no %s", manifestName)
	}
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	text, err = io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("its %s is larger than %d MB", f.Name, most>>20)
	}
	return text, err
}

// Lines is a source file as the bundle has it: explain.LeftOut says which lines it lacks. Not there, or on a nil
// bundle: false.
func (b *Bundle) Lines(name string) ([]string, bool) {
	if b == nil {
		return nil, false
	}
	f, ok := b.files[name]
	if !ok {
		return nil, false
	}
	text, err := regular.Read(f.path, maxSource)
	if err != nil {
		return nil, false
	}
	lines := strings.Split(string(text), "\n")
	if f.kept != nil {
		fill(name, lines, f.kept)
	}
	return lines, true
}

// Close removes what a bundle was unpacked to; on a nil bundle there is nothing.
func (b *Bundle) Close() {
	if b != nil {
		opened.remove(func(dir string) bool { return dir == b.dir })
	}
}

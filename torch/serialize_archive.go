package torch

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// This file opens files of saved tensors, which may come from strangers, and unpacks what lies
// in a .pt file: nothing takes more memory than the size of the file allows.

// What torch.save writes is not packed; other tools may pack it again. Numbers of a model pack
// two or three to one.
const (
	maxUnpacked  = 8        // times the size of the file
	freeUnpacked = 16 << 20 // bytes besides
)

// openSaved opens a regular file and says how large it is: a pipe would hang, and a device
// has no end.
func openSaved(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("is not a regular file")}
	}
	if err != nil {
		return nil, 0, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe since
	if err != nil {
		return nil, 0, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("is not a regular file")}
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// archiveFiles are the files of an archive, without the name of the folder that holds them
// all. Names are unique, and each byte belongs to one file: one whose files overlap could hold
// far more than its size.
func archiveFiles(z *zip.Reader) (map[string]*zip.File, error) {
	type extent struct {
		from, to int64
		name     string
	}
	files := map[string]*zip.File{}
	extents := make([]extent, 0, len(z.File))
	for _, f := range z.File {
		_, name, _ := strings.Cut(f.Name, "/")
		if files[name] != nil {
			return nil, fmt.Errorf("the archive has two files %s", name)
		}
		files[name] = f
		from, err := f.DataOffset()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		extents = append(extents, extent{from, from + int64(f.CompressedSize64), name})
	}
	slices.SortStableFunc(extents, func(a, b extent) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	for i := range extents {
		if e := extents[i]; e.to < e.from || i > 0 && e.from < extents[i-1].to {
			return nil, fmt.Errorf("%s overlaps other files of the archive", e.name)
		}
	}
	return files, nil
}

// file is a file of the archive that there is room for.
func (l *loader) file(name string) (*zip.File, error) {
	f := l.files[name]
	if f == nil {
		return nil, fmt.Errorf("the archive has no %s", name)
	}
	if l.left < 0 || f.UncompressedSize64 > uint64(l.left) {
		return nil, fmt.Errorf("the archive unpacks to more than %d times its size", maxUnpacked)
	}
	l.left -= int64(f.UncompressedSize64)
	return f, nil
}

// read is what a file of the archive holds.
func (l *loader) read(name string) ([]byte, error) {
	f, err := l.file(name)
	if err != nil {
		return nil, err
	}
	b := make([]byte, f.UncompressedSize64)
	return b, unpackInto(f, b)
}

// unpackInto reads a file whose size is that of b.
func unpackInto(f *zip.File, b []byte) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	if _, err = io.ReadFull(r, b); err == nil {
		var rest int64
		if rest, err = io.CopyN(io.Discard, r, 1); rest > 0 { // the end compares the sum
			err = errors.New("holds more than it says")
		} else if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}

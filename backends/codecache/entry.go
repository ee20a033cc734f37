package codecache

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// This file is the format of an entry: a shared object, and after it, where no loader
// looks, the magic word, the hash of what it was made of, and the hash of all before that.

const (
	magic       = "tcdbg\x00c1"
	trailerSize = len(magic) + 2*sha256.Size
	// maxEntry bounds what is read of one file.
	maxEntry = 256 << 20
)

// made is the hash of the parts that code depends on, each with its length.
func made(parts []string) [32]byte {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		_, _ = io.WriteString(h, p)
	}
	return [32]byte(h.Sum(nil))
}

// entryName is the file of what is made of parts with this hash: code, or a plan.
func entryName(kind string, sum [32]byte) string {
	return kind + "-" + hex.EncodeToString(sum[:16]) + suffixOf(kind)
}

func suffixOf(kind string) string {
	if kind == Plan {
		return planSuffix
	}
	return codeSuffix
}

// Name is the file name of a request's entry.
func (r *Request) Name() string { return entryName(r.Kind, r.made()) }

// seal adds the trailer to a shared object that a compiler has just written.
func (c *Cache) seal(path string, sum [32]byte) (size int64, err error) {
	content, err := c.root.ReadFile(path)
	if err != nil {
		return 0, err
	}
	if len(content) == 0 {
		return 0, fmt.Errorf("the compiler wrote an empty file")
	}
	if err := wholeELF(content); err != nil {
		return 0, err
	}
	content = sealed(content, sum)
	return int64(len(content)), errors.Join(c.root.WriteFile(path, content, 0o600), c.root.Chmod(path, 0o600))
}

// sealed is content with the trailer of what is made of parts with this hash.
func sealed(content []byte, sum [32]byte) []byte {
	content = append(append(content, magic...), sum[:]...)
	all := sha256.Sum256(content)
	return append(content, all[:]...)
}

// wholeELF says what a shared object lacks whose linker was out of disk and has not said so: a
// part that its headers promise, or a hole in its code. A hole in its data cannot be told from
// zeros. Other formats, and what is no shared object, are for the loader to refuse.
func wholeELF(content []byte) error {
	if !bytes.HasPrefix(content, []byte(elf.ELFMAG)) {
		return nil
	}
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("the linker wrote a part of a file: %w", err)
	}
	size := uint64(len(content))
	lacks := func(off, n uint64) bool { return off > size || n > size-off }
	for _, p := range f.Progs {
		if lacks(p.Off, p.Filesz) {
			return fmt.Errorf("the linker wrote a part of a file: %d bytes", size)
		}
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOBITS && lacks(s.Offset, s.FileSize) {
			return fmt.Errorf("the linker wrote a part of a file: %d bytes without the whole of %s", size, s.Name)
		}
		if s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_EXECINSTR != 0 &&
			bytes.Contains(content[s.Offset:s.Offset+s.FileSize], noCode[:]) {
			return fmt.Errorf("the linker wrote a file with a hole in %s", s.Name)
		}
	}
	return nil
}

// noCode is more zeros in a row than there are in code: compilers align with instructions.
var noCode [256]byte

var errDamaged = errors.New("its bytes are not those that were written")

// verify reads an entry and sees that it is the user's own, whole, and made of the parts
// with this hash.
func (c *Cache) verify(name string, sum [32]byte) error {
	_, err := c.verified(name, sum)
	return err
}

// verified is what an entry holds, for which verify has no objection.
func (c *Cache) verified(name string, sum [32]byte) ([]byte, error) {
	link, err := c.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !link.Mode().IsRegular() { // a link, a pipe, a folder
		return nil, fmt.Errorf("it is no regular file")
	}
	f, err := c.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !os.SameFile(link, st):
		return nil, fmt.Errorf("it was replaced while it was read")
	case !mine(st):
		return nil, fmt.Errorf("it belongs to another user")
	case st.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("others may write it")
	case st.Size() <= int64(trailerSize) || st.Size() > maxEntry:
		return nil, errDamaged
	}
	return check(f, st, sum)
}

// check compares an open entry with its hashes, and returns what lies before them.
func check(f io.Reader, st fs.FileInfo, sum [32]byte) ([]byte, error) {
	content := make([]byte, st.Size())
	switch _, err := io.ReadFull(f, content); {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF): // it was cut off
		return nil, errDamaged
	case err != nil:
		return nil, err
	}
	body, all := content[:len(content)-sha256.Size], content[len(content)-sha256.Size:]
	if got := sha256.Sum256(body); !bytes.Equal(got[:], all) {
		return nil, errDamaged
	}
	head, of := body[:len(body)-sha256.Size], body[len(body)-sha256.Size:]
	if !bytes.HasSuffix(head, []byte(magic)) || !bytes.Equal(of, sum[:]) {
		return nil, fmt.Errorf("it was made of something else")
	}
	return head[:len(head)-len(magic)], nil
}

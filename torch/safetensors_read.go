package torch

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"tcdbg/torch/internal/parallel"
)

// This file reads safetensors files, as strictly as the Python package does: the tensors cover
// the data without gap or overlap, nothing follows them, and no key is there twice.

// maxSafeHeader is the largest header that the format allows.
const maxSafeHeader = 100_000_000

// LoadSafetensors reads all tensors of a safetensors file.
func LoadSafetensors(path string) (map[string]*Tensor, error) {
	out, _, err := readSafetensors(path, true)
	return out, err
}

// SafetensorsMetadata reads the free text of a safetensors file.
func SafetensorsMetadata(path string) (map[string]string, error) {
	_, meta, err := readSafetensors(path, false)
	return meta, err
}

func readSafetensors(path string, tensors bool) (map[string]*Tensor, map[string]string, error) {
	f, size, err := openSaved(path)
	if err != nil {
		return nil, nil, fmt.Errorf("safetensors: %w", err)
	}
	defer func() { _ = f.Close() }()
	out, meta, err := parseSafetensors(f, size, tensors)
	if err != nil {
		return nil, nil, fmt.Errorf("safetensors: %s: %w", path, err)
	}
	return out, meta, nil
}

// storedTensor is one tensor of a file.
type storedTensor struct {
	name     string
	d        DType
	shape    []int
	from, to int // in the data that follow the header
}

// parseSafetensors reads the file of size bytes that r reads, its tensors where they are wanted.
// No memory is taken for them before the header is known to fit the file.
func parseSafetensors(r io.ReaderAt, size int64, tensors bool) (map[string]*Tensor, map[string]string, error) {
	var start [8]byte
	if size < int64(len(start)) {
		return nil, nil, errors.New("the header is too small")
	}
	if _, err := r.ReadAt(start[:], 0); err != nil {
		return nil, nil, err
	}
	body := size - int64(len(start))
	n := binary.LittleEndian.Uint64(start[:])
	if n > maxSafeHeader || n > uint64(body) {
		return nil, nil, fmt.Errorf("a header of %d bytes does not fit", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(r, int64(len(start)), int64(n)), text); err != nil {
		return nil, nil, err
	}
	stored, meta, err := parseSafeHeader(text)
	if err == nil {
		err = covers(stored, body-int64(n))
	}
	if err != nil || !tensors {
		return nil, meta, err
	}
	out, err := readStored(r, size-body+int64(n), stored)
	return out, meta, err
}

// readStored reads tensors from data that begin at a place of the file. Most of the time goes
// into memory that has not been used before, so processors share it.
func readStored(r io.ReaderAt, at int64, stored []storedTensor) (map[string]*Tensor, error) {
	out := make(map[string]*Tensor, len(stored))
	for _, s := range stored {
		out[s.name] = newTensor(s.d, s.shape)
	}
	errs := make([]error, len(stored))
	parallel.Each(parallel.Threads(), len(stored), func(i int) {
		s := stored[i]
		into := out[s.name].array.Storage.Bytes()[:s.to-s.from]
		if _, err := r.ReadAt(into, at+int64(s.from)); err != nil && len(into) > 0 {
			errs[i] = fmt.Errorf("%s: %w", s.name, err)
		}
	})
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return nil, errs[i] // the first in the file
	}
	return out, nil
}

// covers sorts tensors by their places, and reports where these leave out or share a byte of
// the data.
func covers(stored []storedTensor, size int64) error {
	slices.SortFunc(stored, func(a, b storedTensor) int {
		if a.from != b.from {
			return a.from - b.from
		}
		if a.to != b.to {
			return a.to - b.to
		}
		return strings.Compare(a.name, b.name)
	})
	at := 0
	for _, s := range stored {
		if s.from != at {
			return fmt.Errorf("%s: data_offsets [%d,%d] begin where the tensor before does not end, at %d", s.name, s.from, s.to, at)
		}
		at = s.to
	}
	if int64(at) != size {
		return fmt.Errorf("the tensors cover %d bytes of data, and the file has %d", at, size)
	}
	return nil
}

// parseSafeHeader reads the JSON of a header.
func parseSafeHeader(text []byte) (stored []storedTensor, meta map[string]string, err error) {
	if !utf8.Valid(text) {
		return nil, nil, errors.New("the header is no UTF-8")
	}
	err = eachField(text, func(name string, raw json.RawMessage) error {
		if name == "__metadata__" {
			meta, err = safeMetadata(raw)
			return err
		}
		t, err := parseStored(raw)
		t.name = name
		stored = append(stored, t)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("the header: %w", err)
	}
	return stored, meta, nil
}

// eachField reads a JSON object. encoding/json takes the last of two fields of a name, and
// fields whose names differ in case; here a name is there once, as it is written.
func eachField(text []byte, field func(name string, raw json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("is no JSON object")
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return fmt.Errorf("is no JSON: %w", err)
		}
		name, _ := t.(string)
		if seen[name] {
			return fmt.Errorf("%q is there twice", name)
		}
		seen[name] = true
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return fmt.Errorf("is no JSON: %w", err)
		}
		if err := field(name, raw); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("is no JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON")
	}
	return nil
}

func safeMetadata(raw json.RawMessage) (map[string]string, error) {
	if string(raw) == "null" {
		return nil, nil
	}
	meta := map[string]string{}
	err := eachField(raw, func(name string, raw json.RawMessage) error {
		var text *string
		if err := json.Unmarshal(raw, &text); err != nil || text == nil {
			return errors.New("is no text")
		}
		meta[name] = *text
		return nil
	})
	return meta, err
}

// parseStored reads what the header says of one tensor.
func parseStored(raw json.RawMessage) (storedTensor, error) {
	var s storedTensor
	var dtype *string
	var shape, offsets []int
	hasShape := false
	err := eachField(raw, func(name string, raw json.RawMessage) (err error) {
		switch name {
		case "dtype":
			err = json.Unmarshal(raw, &dtype)
		case "shape":
			hasShape = true
			shape, err = naturals(raw)
		case "data_offsets":
			offsets, err = naturals(raw)
		}
		return err
	})
	switch {
	case err != nil:
		return s, err
	case dtype == nil, !hasShape, len(offsets) != 2:
		return s, errors.New("lacks its dtype, shape or data_offsets")
	}
	bytes, ok := 0, false
	for _, t := range safeTypes {
		if t.name == *dtype {
			s.d, bytes, ok = t.d, t.d.Size(), true
		}
	}
	if !ok {
		return s, fmt.Errorf("dtype %q is not supported", *dtype)
	}
	for _, n := range shape {
		if n > 0 && bytes > math.MaxInt/n {
			return s, fmt.Errorf("shape %v does not fit", shape)
		}
		bytes *= n
	}
	s.shape, s.from, s.to = shape, offsets[0], offsets[1]
	if s.to < s.from || s.to-s.from != bytes {
		return s, fmt.Errorf("data_offsets %v do not fit shape %v of %s", offsets, shape, *dtype)
	}
	return s, nil
}

// naturals reads a JSON array of whole numbers from 0.
func naturals(raw json.RawMessage) ([]int, error) {
	var list []*int
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return nil, fmt.Errorf("%s is no list of whole numbers", raw[:min(len(raw), 60)])
	}
	out := make([]int, len(list))
	for i, n := range list {
		if n == nil || *n < 0 {
			return nil, fmt.Errorf("%s is no list of whole numbers from 0", raw[:min(len(raw), 60)])
		}
		out[i] = *n
	}
	return out, nil
}

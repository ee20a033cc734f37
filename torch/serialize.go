package torch

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"tcdbg/ops"
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/pickle"
)

// This file is torch.save and torch.load: a zip file with a pickle of the
// values and one file for each storage. Loading runs no code of the file.

// DictItem is one entry of an OrderedDict.
type DictItem struct{ Key, Value any }

// OrderedDict is a Python dict as Load returns it and Save takes it.
type OrderedDict []DictItem

// Get returns the value under a key; nil without it.
func (d OrderedDict) Get(key any) any {
	for _, it := range d {
		if it.Key == key {
			return it.Value
		}
	}
	return nil
}

// Tensors returns the entries that are tensors, by name: a state_dict as
// nn.LoadStateDict takes it.
func (d OrderedDict) Tensors() map[string]*Tensor {
	out := map[string]*Tensor{}
	for _, it := range d {
		name, ok := it.Key.(string)
		if t, isTensor := it.Value.(*Tensor); ok && isTensor {
			out[name] = t
		}
	}
	return out
}

// storageNames are the classes that name a storage's dtype.
var storageNames = map[string]DType{
	"FloatStorage": ops.Float32, "DoubleStorage": ops.Float64, "HalfStorage": ops.Float16, "BFloat16Storage": ops.BFloat16,
	"LongStorage": ops.Int64, "IntStorage": ops.Int32, "ShortStorage": ops.Int16, "CharStorage": ops.Int8,
	"ByteStorage": ops.Uint8, "BoolStorage": ops.Bool, "ComplexFloatStorage": ops.Complex64,
}

// Load reads a file that torch.save wrote. Dicts are OrderedDicts, lists and
// tuples []any, dtypes DTypes and devices strings. A file that names anything
// but tensors and plain data is refused, as torch.load does with weights_only.
// Option: kw.MapLocation of a device, or of a map[string]string from the devices of
// the file; without it, tensors of a device that is not there are refused.
func Load(path string, opts ...Option) (any, error) {
	v, err := loadFile(path, opts)
	if err != nil {
		return nil, fmt.Errorf("torch.Load: %s: %w", path, err)
	}
	return v, nil
}

func loadFile(path string, opts []Option) (any, error) {
	locate, err := locationOf(opts)
	if err != nil {
		return nil, err
	}
	f, size, err := openSaved(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return loadArchive(f, size, locate)
}

// legacyMagic begins what torch.save wrote before it wrote zip files: a pickled
// number that only such files have.
var legacyMagic = []byte("\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.")

// loadArchive reads the zip file of size bytes that r reads.
func loadArchive(r io.ReaderAt, size int64, locate location) (any, error) {
	start := make([]byte, len(legacyMagic))
	if _, err := r.ReadAt(start, 0); err == nil && bytes.Equal(start, legacyMagic) {
		return nil, errors.New("the file has the format from before PyTorch 1.6, which is not supported; save it again with torch.save")
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, err
	}
	l := &loader{storages: map[string]rawStorage{}, locate: locate, left: freeUnpacked + maxUnpacked*size}
	if l.files, err = archiveFiles(z); err != nil {
		return nil, err
	}
	data, err := l.read("data.pkl")
	if err == nil {
		err = l.checkOrder()
	}
	if err != nil {
		return nil, err
	}
	v, err := pickle.Read(data, l)
	if err != nil {
		return nil, err
	}
	return (&plainer{done: map[any]any{}}).value(v)
}

type loader struct {
	files    map[string]*zip.File
	storages map[string]rawStorage
	locate   location
	left     int64 // bytes to which its files may still unpack
}

func (l *loader) checkOrder() error {
	if l.files["byteorder"] == nil {
		return nil
	}
	order, err := l.read("byteorder")
	if err == nil && string(order) != "little" {
		err = fmt.Errorf("byte order %q is not supported", order)
	}
	return err
}

// rawStorage is a storage with the dtype that the file gives it, and where it goes.
type rawStorage struct {
	st     *memory.Storage
	d      DType
	device Device
}

// Persistent loads ("storage", class, key, device, elements).
func (l *loader) Persistent(id any) (any, error) {
	t, ok := id.(pickle.Tuple)
	if !ok || len(t) != 5 || t[0] != "storage" {
		return nil, fmt.Errorf("an object stored outside is no storage but %T", id)
	}
	class, _ := t[1].(pickle.Global)
	d, known := storageNames[class.Name]
	key, isText := t[2].(string)
	if !known || class.Module != "torch" || !isText {
		return nil, fmt.Errorf("storage class %s.%s is not supported", class.Module, class.Name)
	}
	raw, there := l.storages[key]
	raw.d = d
	if there {
		return raw, nil
	}
	tag, isText := t[3].(string)
	if !isText {
		return nil, fmt.Errorf("a storage without a device but %T", t[3])
	}
	var err error
	if raw.device, err = l.locate(tag); err != nil {
		return nil, err
	}
	f, err := l.file("data/" + key)
	if err != nil {
		return nil, err
	}
	size := int(f.UncompressedSize64)
	if n, isInt := t[4].(int); !isInt || n != size/d.Size() {
		return nil, fmt.Errorf("storage %s has %d bytes, which are not %v elements of %s", key, size, t[4], d)
	}
	raw.st = memory.NewStorage(size)
	if err := unpackInto(f, raw.st.Bytes()[:size]); err != nil {
		return nil, err
	}
	l.storages[key] = raw
	return raw, nil
}

// Call makes what a function of the file stands for.
func (l *loader) Call(g pickle.Global, args pickle.Tuple) (any, error) {
	switch g {
	case pickle.Global{Module: "torch._utils", Name: "_rebuild_tensor_v2"}:
		return rebuildTensor(args)
	case pickle.Global{Module: "torch._utils", Name: "_rebuild_parameter"}:
		if len(args) >= 2 {
			if t, ok := args[0].(*Tensor); ok {
				grad, _ := args[1].(bool)
				return t.RequiresGrad_(grad), nil
			}
		}
		return nil, errors.New("a parameter without tensor")
	case pickle.Global{Module: "torch", Name: "Size"}:
		if len(args) == 1 {
			return args[0], nil
		}
	case pickle.Global{Module: "torch", Name: "device"}:
		return deviceName(args)
	}
	return nil, fmt.Errorf("%s.%s is not allowed: only tensors and plain data are loaded", g.Module, g.Name)
}

// deviceName is the text of torch.device(type) or torch.device(type, index).
func deviceName(args pickle.Tuple) (any, error) {
	if len(args) == 0 || len(args) > 2 {
		return nil, errors.New("a device of unknown form")
	}
	name, ok := args[0].(string)
	if !ok {
		return nil, errors.New("a device without name")
	}
	if len(args) == 1 {
		return name, nil
	}
	index, ok := args[1].(int)
	if !ok {
		return nil, errors.New("a device whose index is no number")
	}
	return name + ":" + strconv.Itoa(index), nil
}

// rebuildTensor reads (storage, offset, size, stride, requires_grad, hooks) and,
// of conjugated views, what else to know of them.
func rebuildTensor(args pickle.Tuple) (any, error) {
	if len(args) > 6 {
		if more, _ := args[6].(*pickle.Dict); more == nil || len(more.Items) > 0 {
			return nil, errors.New("a lazily conjugated or negated tensor is not supported; save its resolve_conj().resolve_neg()")
		}
	}
	if len(args) < 5 {
		return nil, errors.New("a tensor with too few parts")
	}
	raw, ok := args[0].(rawStorage)
	offset, ok2 := args[1].(int)
	shape, ok3 := intsOf(args[2])
	stride, ok4 := intsOf(args[3])
	if !ok || !ok2 || !ok3 || !ok4 || len(shape) != len(stride) || offset < 0 {
		return nil, errors.New("a tensor of unknown form")
	}
	if !within(raw.st.Size()/raw.d.Size(), shape, stride, offset) {
		return nil, fmt.Errorf("a tensor of size %v, stride %v and offset %d is outside of its storage", shape, stride, offset)
	}
	t := FromStorage((*Storage)(raw.st), raw.d, shape, stride, offset)
	if raw.device == ops.Meta {
		t = t.To(ops.Meta)
	}
	if grad, _ := args[4].(bool); grad {
		t.RequiresGrad_()
	}
	return t, nil
}

// maxElements bounds what a file may say of sizes, so that products fit.
const maxElements = 1 << 47

// within reports whether a view stays within n elements.
func within(n int, shape, stride []int, offset int) bool {
	last, count, empty := offset, 1, false
	for i, s := range shape {
		if s < 0 || stride[i] < 0 || stride[i] > maxElements || s > maxElements/max(count, 1) {
			return false
		}
		count *= max(s, 1)
		empty = empty || s == 0
		if stride[i] > 0 && s > 1 {
			if s-1 > (maxElements-min(last, maxElements))/stride[i] {
				return false
			}
			last += (s - 1) * stride[i]
		}
	}
	return empty || last < n
}

func intsOf(v any) ([]int, bool) {
	t, ok := v.(pickle.Tuple)
	out := make([]int, len(t))
	for i, x := range t {
		n, isInt := x.(int)
		if !isInt {
			return nil, false
		}
		out[i] = n
	}
	return out, ok
}

// plainer replaces the containers of a pickle by Go's. Each is replaced once,
// so that shared ones stay shared, and one that holds itself is refused.
type plainer struct {
	done  map[any]any // by address; busy while its items are replaced
	depth int
}

// maxDepth bounds how deep containers may lie in each other, in files and in
// what is saved: Python itself gives up at about a thousand.
const maxDepth = 1000

var errDepth = fmt.Errorf("containers lie more than %d deep in each other", maxDepth)

type busy struct{}

func (p *plainer) value(v any) (any, error) {
	var key any
	switch c := v.(type) {
	case *pickle.Dict:
		key = c
	case *pickle.List:
		key = c
	case pickle.Tuple:
		if len(c) == 0 {
			return []any{}, nil
		}
		key = &c[0]
	case pickle.Global:
		return dtypeNamed(c)
	case rawStorage:
		return nil, errors.New("a storage that is no tensor's is not supported")
	default:
		return v, nil
	}
	if got, ok := p.done[key]; ok {
		if _, inside := got.(busy); inside {
			return nil, errors.New("a container that holds itself is not supported")
		}
		return got, nil
	}
	if p.depth == maxDepth {
		return nil, errDepth
	}
	p.done[key] = busy{}
	p.depth++
	out, err := p.container(v)
	p.depth--
	p.done[key] = out
	return out, err
}

// dtypeNamed is the dtype that a global of the stream names: torch.float32.
func dtypeNamed(g pickle.Global) (any, error) {
	for _, d := range storageNames {
		if g.Module == "torch" && d.String() == "torch."+g.Name {
			return d, nil
		}
	}
	return nil, fmt.Errorf("%s.%s is not allowed: only tensors and plain data are loaded", g.Module, g.Name)
}

func (p *plainer) container(v any) (any, error) {
	switch v := v.(type) {
	case *pickle.Dict:
		out := make(OrderedDict, len(v.Items))
		for i, it := range v.Items {
			x, err := p.value(it.Value)
			if err != nil {
				return nil, err
			}
			out[i] = DictItem{it.Key, x}
		}
		return out, nil
	case *pickle.List:
		return p.list(v.Items)
	}
	return p.list(v.(pickle.Tuple))
}

func (p *plainer) list(items []any) (any, error) {
	out := make([]any, len(items))
	for i, x := range items {
		v, err := p.value(x)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// Save writes values as torch.save does: tensors, OrderedDicts, the state of a
// module (nn.StateDict), maps with string or int keys, lists, numbers, strings,
// bools and nil. Tensors that share
// memory share it in the file, which is there whole or as it was before.
func Save(value any, path string) error {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if name == "" {
		name = "archive"
	}
	s := &saver{keys: map[*memory.Storage]int{}}
	tree, err := s.tree(value)
	if err != nil {
		return fmt.Errorf("torch.Save: %w", err)
	}
	text, err := pickle.Write(tree)
	if err != nil {
		return fmt.Errorf("torch.Save: %w", err)
	}
	if err := saveFile(path, func(f io.Writer) error { return s.write(f, name, text) }); err != nil {
		return fmt.Errorf("torch.Save: %w", err)
	}
	return nil
}

// write writes the archive of that name: the pickle text and the storages that it names.
func (s *saver) write(f io.Writer, name string, text []byte) error {
	w := &archive{zip: zip.NewWriter(f), name: name}
	w.add("data.pkl", text)
	w.add(".format_version", []byte("1"))
	w.add(".storage_alignment", []byte(strconv.Itoa(memory.Alignment)))
	w.add("byteorder", []byte("little"))
	for i, st := range s.list {
		w.add("data/"+strconv.Itoa(i), st.Bytes()[:st.Size()])
	}
	w.add("version", []byte("3\n"))
	if e := w.zip.Close(); w.err == nil {
		w.err = e
	}
	return w.err
}

// archive writes stored files whose data are aligned, as PyTorch maps them.
type archive struct {
	zip  *zip.Writer
	name string
	at   int // bytes written so far
	err  error
}

func (a *archive) add(name string, data []byte) {
	if a.err != nil {
		return
	}
	h := &zip.FileHeader{Name: a.name + "/" + name, Method: zip.Store}
	h.CRC32 = crc32.ChecksumIEEE(data)
	h.CompressedSize64, h.UncompressedSize64 = uint64(len(data)), uint64(len(data))
	const fixed, field = 30, 4 // bytes of a local header, and of the extra field's own
	pad := (memory.Alignment - (a.at+fixed+len(h.Name)+field)%memory.Alignment) % memory.Alignment
	h.Extra = append([]byte{'F', 'B', byte(pad), byte(pad >> 8)}, make([]byte, pad)...)
	w, err := a.zip.CreateRaw(h)
	if err == nil {
		_, err = w.Write(data)
	}
	a.at += fixed + len(h.Name) + field + pad + len(data)
	a.err = err
}

type saver struct {
	keys  map[*memory.Storage]int
	list  []*memory.Storage
	depth int
}

// tree turns values into those that a pickle holds.
func (s *saver) tree(v any) (any, error) {
	if s.depth == maxDepth {
		return nil, errDepth
	}
	s.depth++
	defer func() { s.depth-- }()
	switch v := v.(type) {
	case nil, bool, int, float64, string:
		return v, nil
	case DType:
		return pickle.Global{Module: "torch", Name: strings.TrimPrefix(v.String(), "torch.")}, nil
	case *Tensor:
		return s.tensor(v)
	case OrderedDict:
		return s.ordered(v)
	case []Named:
		dict := make(OrderedDict, len(v))
		for i, n := range v {
			dict[i] = DictItem{Key: n.Name, Value: n.Tensor}
		}
		return s.ordered(dict)
	}
	return s.container(v)
}

func (s *saver) ordered(v OrderedDict) (any, error) {
	out := &pickle.OrderedDict{}
	for _, it := range v {
		x, err := s.tree(it.Value)
		if err == nil {
			err = out.Set(it.Key, x)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *saver) tensor(t *Tensor) (any, error) {
	if t.array.Storage == nil || t.array.Storage.Bytes() == nil && t.array.Storage.Size() > 0 || t.array.Device == ops.Meta {
		return nil, fmt.Errorf("a tensor on %s has no data to save", t.array.Device)
	}
	class := ""
	for name, d := range storageNames {
		if d == t.array.DType {
			class = name
		}
	}
	key, ok := s.keys[t.array.Storage]
	if !ok {
		key = len(s.list)
		s.keys[t.array.Storage] = key
		s.list = append(s.list, t.array.Storage)
	}
	id := pickle.Tuple{
		"storage",
		pickle.Global{Module: "torch", Name: class},
		strconv.Itoa(key), "cpu",
		t.array.Storage.Size() / t.array.DType.Size(),
	}
	hooks := func() any { return &pickle.OrderedDict{} }
	plain := pickle.Object{
		Global: pickle.Global{Module: "torch._utils", Name: "_rebuild_tensor_v2"},
		Args: pickle.Tuple{
			pickle.Persistent{ID: id},
			t.array.Offset, tupleOf(t.array.Shape), tupleOf(t.array.Stride),
			t.requiresGrad, hooks(),
		},
	}
	return plain, nil
}

func tupleOf(v []int) pickle.Tuple {
	out := make(pickle.Tuple, len(v))
	for i, x := range v {
		out[i] = x
	}
	return out
}

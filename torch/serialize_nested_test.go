package torch_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/torch"
)

// This file holds checkpoints as people write them, and files of kinds that are
// refused. testdata/serialize/nested.py wrote them.

func TestNestedCheckpoints(t *testing.T) {
	v, err := torch.Load("testdata/serialize/nested.pt")
	if err != nil {
		t.Fatal(err)
	}
	d := v.(torch.OrderedDict)
	model := d.Get("model").(torch.OrderedDict).Tensors()
	if model["embed.weight"] == nil || model["embed.weight"].Storage() != model["head.weight"].Storage() {
		t.Error("tied weights came apart")
	}
	half := d.Get("half").(torch.OrderedDict)
	for name, want := range map[string]string{
		"f16":  "tensor([[ 0.,  1.,  2.,  3.],\n        [ 4.,  5.,  6.,  7.],\n        [ 8.,  9., 10., 11.]], dtype=torch.float16)",
		"bf16": "tensor([[ 4.,  5.,  6.,  7.],\n        [ 8.,  9., 10., 11.]], dtype=torch.bfloat16)",
	} {
		if s := half.Get(name).(*torch.Tensor).String(); s != want {
			t.Errorf("%s is %s", name, s)
		}
	}
	deep := half.Get("deep").(torch.OrderedDict).Get("deeper").([]any)[0].(torch.OrderedDict).Get("deepest").([]any)
	transposed, row := deep[0].(*torch.Tensor), deep[1].([]any)[0].(*torch.Tensor)
	if transposed.Storage() != row.Storage() || transposed.At(2, 1).Item() != 6 || row.At(3).Item() != 7 {
		t.Errorf("views of one tensor came back as %v and %v", transposed, row)
	}
	steps := d.Get("optimizer").(torch.OrderedDict).Get("state").(torch.OrderedDict).Get(1).(torch.OrderedDict)
	if steps.Get("step").(*torch.Tensor).Item() != 3 || steps.Get("max_exp_avg_sq") == nil {
		t.Errorf("the optimizer's state is %v", steps)
	}
}

// TestPyTorchLoadsNestedCheckpoints writes what was read; PyTorch must find in it
// what it wrote itself, and modules and optimizers must take it.
func TestPyTorchLoadsNestedCheckpoints(t *testing.T) {
	python := os.Getenv("TCDBG_PYTHON")
	if python == "" {
		python = "python3"
	}
	if err := exec.Command(python, "-c", "import torch").Run(); err != nil {
		t.Skipf("no PyTorch: %s -c 'import torch': %v (set TCDBG_PYTHON)", python, err)
	}
	v, err := torch.Load("testdata/serialize/nested.pt")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "again.pt")
	if err := torch.Save(v, path); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(python, "testdata/serialize/nested.py", path).CombinedOutput(); err != nil || string(out) != "alike\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestKindsOfFilesThatAreRefused(t *testing.T) {
	for file, want := range map[string]string{
		"legacy.pt": "the format from before PyTorch 1.6, which is not supported",
		"conj.pt":   "a lazily conjugated or negated tensor is not supported",
		"neg.pt":    "a lazily conjugated or negated tensor is not supported",
	} {
		if _, err := torch.Load("testdata/serialize/" + file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", file, err)
		}
	}
}

// storageOf is the pickle of a tensor of n floats in a storage.
func storageOf(key string, n int) string {
	size := string(binary.LittleEndian.AppendUint32(nil, uint32(n)))
	return "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x00" + key +
		"X\x03\x00\x00\x00cpuJ" + size + "tQK\x00J" + size + "\x85K\x01\x85\x89}tR"
}

// TestOverlappingStorages reads an archive in which one stretch of bytes is two
// files: so an archive could hold more than there is.
func TestOverlappingStorages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pt")
	const n = 10000
	both := "\x80\x02(" + storageOf("0", n) + storageOf("1", n) + "t."
	numbers := strings.Repeat("\x00\x00\x80\x3f", n)
	writeStored(t, path, []string{"x/data.pkl", both, "x/data/0", numbers, "x/data/1", numbers})
	if v, err := torch.Load(path); err != nil || len(v.([]any)) != 2 {
		t.Fatalf("two storages apart: %v", err)
	}
	writeStored(t, path, []string{"x/data.pkl", both, "x/data/0", numbers})
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, entryTwice(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := torch.Load(path); err == nil || !strings.Contains(err.Error(), "data/1 overlaps other files of the archive") {
		t.Errorf("got %v", err)
	}
}

// entryTwice enters the last file of an archive, data/0, as data/1 too.
func entryTwice(archive []byte) []byte {
	at := bytes.LastIndex(archive, []byte("PK\x01\x02"))
	end := bytes.LastIndex(archive, []byte("PK\x05\x06"))
	entry := bytes.Replace(archive[at:end], []byte("data/0"), []byte("data/1"), 1)
	tail := bytes.Clone(archive[end:])
	order := binary.LittleEndian
	for _, field := range []int{8, 10} { // entries on this disk, and in all
		order.PutUint16(tail[field:], order.Uint16(tail[field:])+1)
	}
	order.PutUint32(tail[12:], order.Uint32(tail[12:])+uint32(len(entry)))
	return append(append(bytes.Clone(archive[:end]), entry...), tail...)
}

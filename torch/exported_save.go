package torch

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strconv"

	"tcdbg/torch/export"
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/pickle"
)

// This file writes exported programs as torch.export.save does.

// Save writes the program as torch.export.save does: PyTorch's torch.export.load reads the file, and so does
// LoadExported, in a process that knows nothing of the source.
func (p *ExportedProgram) Save(path string) error {
	if err := saveFile(path, p.writeArchive); err != nil {
		return fmt.Errorf("torch.export.save: %w", err)
	}
	return nil
}

func (p *ExportedProgram) writeArchive(f io.Writer) error {
	payload := p.placeWeights()
	texts, err := p.prog.Write()
	if err != nil {
		return err
	}
	example, err := p.exampleBytes()
	if err != nil {
		return err
	}
	w := &archive{zip: zip.NewWriter(f), name: "archive"}
	for _, x := range payload {
		w.add("data/"+x.path, x.st.Bytes()[:x.st.Size()])
	}
	w.add("data/weights/model_weights_config.json", texts.Weights)
	w.add("data/constants/model_constants_config.json", texts.Constants)
	w.add(exportedModel, texts.Model)
	w.add(exportedInputs, example)
	for _, x := range [][2]string{
		{"archive_format", "pt2"}, {"archive_version", "0"}, {"byteorder", "little"}, {".data/version", "6\n"},
	} {
		w.add(x[0], []byte(x[1]))
	}
	if e := w.zip.Close(); w.err == nil {
		w.err = e
	}
	return w.err
}

// payload is a storage with its place in the archive.
type payload struct {
	path string
	st   *memory.Storage
}

// placeWeights gives each storage a file, which tensors that share it share, and says in the program where
// each weight lies now.
func (p *ExportedProgram) placeWeights() []payload {
	var out []payload
	places := map[*memory.Storage]string{}
	for i, in := range p.prog.Inputs {
		t := p.stored[i]
		if t == nil {
			continue
		}
		old := p.prog.Weights[in.Target]
		folder, file := "weights/", "weight_"
		if in.Kind == export.Constant || in.Kind == export.Buffer && !old.Kept() {
			folder, file = "constants/", "tensor_"
		}
		st := t.array.Storage
		key, known := places[st]
		if !known || key[:len(folder)] != folder {
			key = folder + file + strconv.Itoa(len(out))
			places[st] = key
			out = append(out, payload{key, st})
		}
		p.prog.Weights[in.Target] = export.Weight{Path: key, Param: in.Kind == export.Parameter, Tensor: export.TensorOf(t.TensorMeta())}
	}
	return out
}

// exampleBytes are the example's arguments as torch.save writes them: a tuple of a tuple and a dict.
func (p *ExportedProgram) exampleBytes() ([]byte, error) {
	if p.example == nil {
		return nil, nil
	}
	s := &saver{keys: map[*memory.Storage]int{}}
	n := len(p.example) - 1
	args := pickle.Tuple{}
	for i, k := range p.prog.In.Kids[0].Kids {
		x, err := s.ofTree(k, p.example[:n][i])
		if err != nil {
			return nil, err
		}
		args = append(args, x)
	}
	kwargs, err := s.ofTree(p.prog.In.Kids[1], p.example[n])
	if err != nil {
		return nil, err
	}
	text, err := pickle.Write(pickle.Tuple{args, kwargs})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = s.write(&b, "archive", text)
	return b.Bytes(), err
}

// ofTree is a value whose containers are those of a tree.
func (s *saver) ofTree(t *export.Tree, v any) (any, error) {
	var leaves []any
	if err := flattenTree(t, v, "args", &leaves); err != nil {
		return nil, err
	}
	return s.fill(t, &leaves)
}

func (s *saver) fill(t *export.Tree, leaves *[]any) (any, error) {
	if t.Kind == export.Leaf {
		v := (*leaves)[0]
		*leaves = (*leaves)[1:]
		return s.tree(v)
	}
	dict, list := &pickle.Dict{}, []any{}
	for i, k := range t.Kids {
		x, err := s.fill(k, leaves)
		if err == nil && t.Kind == export.Dict {
			err = dict.Set(t.Keys[i], x)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	switch t.Kind {
	case export.Dict:
		return dict, nil
	case export.Tuple:
		return pickle.Tuple(list), nil
	}
	return &pickle.List{Items: list}, nil
}

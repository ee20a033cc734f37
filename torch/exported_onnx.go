package torch

import (
	"fmt"
	"io"

	"tcdbg/torch/internal/onnx"
)

// This file writes exported programs as ONNX models.

// SaveONNX writes the program as a model of ONNX, op set 18, as torch.onnx.export does: weights lie in the file,
// dynamic sizes are dimensions with names. A program with operators that have no form in ONNX is
// refused, and all of them are named; so is a model larger than the 2 GB that such a file holds.
func (p *ExportedProgram) SaveONNX(path string) error {
	if err := saveFile(path, p.writeONNX); err != nil {
		return fmt.Errorf("torch.onnx.export: %w", err)
	}
	return nil
}

func (p *ExportedProgram) writeONNX(w io.Writer) error {
	return onnx.Write(w, p.prog, func(target string) []byte { return bytesOf(p.named[target]) })
}

// bytesOf is the memory of a tensor, contiguous.
func bytesOf(t *Tensor) []byte {
	t = t.Detach().Contiguous()
	from := t.array.Offset * t.DType().Size()
	return t.array.Storage.Bytes()[from : from+t.Numel()*t.DType().Size()]
}

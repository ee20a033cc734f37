package app

import (
	"errors"
	"os"
)

func (p *trialProgram) startPython(*Run, [3]*os.File) (*child, func(), error) {
	return nil, nil, errors.New("PyTorch programs cannot be tried yet")
}

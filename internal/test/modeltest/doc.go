// Package modeltest holds our models against PyTorch's: testdata/models.json.gz
// has what torchvision's and transformers' models answer for weights and
// inputs from a formula. It is for tests only. Open formula.go first, then
// record.go.
package modeltest

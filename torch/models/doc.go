// Package models holds networks that people know, with the parameter names of
// torchvision (ResNet, DenseNet, MobileNetV3, EfficientNet, ConvNeXt, VGG,
// SqueezeNet, ViT) and of transformers (BERT, GPT-2, LLaMA, T5), so that their
// weights load, and a toy that writes captions for images.
//
// It is a source package: the interpreter runs it from source, so that traced
// programs see through it. It imports torch, torch/kw and torch/nn only. Open
// resnet.go first for images, attention.go and gpt2.go for text.
package models

/* Calls a library: it reads the inputs from in0.bin, in1.bin and so on, whose sizes are in sizes.txt, a line of
   numbers each behind their count, and writes the outputs to out0.bin and so on, their sizes to standard output.
   NAME is the library, HEADER its header. Arguments: how many threads, how often to call. */
#include HEADER
#include <stdio.h>
#include <stdlib.h>

#define JOIN(a, b) a##_##b
#define OF(a, b) JOIN(a, b)
#define F(x) OF(NAME, x)

static const size_t widths[] = {1, 1, 2, 4, 8, 2, 4, 8, 8, 1, 2};

static size_t bytes(const F(tensor) *t) {
  size_t n = widths[t->dtype];
  for (int d = 0; d < t->ndim; d++) n *= (size_t)t->sizes[d];
  return n;
}

static void check(int code) {
  if (!code) return;
  fprintf(stderr, "%d: %s\n", code, F(error)());
  exit(3);
}

int main(int argc, char **argv) {
  F(tensor) in[16] = {{0}}, out[16] = {{0}};
  int64_t sizes[32][8];
  char path[32];
  int n = 0, results = 0, calls = argc > 2 ? atoi(argv[2]) : 1;
  if (argc > 1) check(F(threads)(atoi(argv[1])));
  FILE *f = fopen("sizes.txt", "r");
  for (; F(input)(n); n++) {
    in[n].dtype = F(input)(n)->dtype;
    if (fscanf(f, "%d", &in[n].ndim) != 1) return 2;
    for (int d = 0; d < in[n].ndim; d++)
      if (fscanf(f, "%ld", &sizes[n][d]) != 1) return 2;
    in[n].sizes = sizes[n];
    in[n].data = aligned_alloc(64, (bytes(&in[n]) + 64) / 64 * 64);
    sprintf(path, "in%d.bin", n);
    FILE *data = fopen(path, "rb");
    if (fread(in[n].data, 1, bytes(&in[n]), data) != bytes(&in[n])) return 2;
    fclose(data);
  }
  fclose(f);
  for (; F(output)(results); results++) {
    F(tensor) *t = &out[results];
    t->dtype = F(output)(results)->dtype;
    t->ndim = F(output)(results)->ndim;
    t->sizes = sizes[16 + results];
    check(F(output_sizes)(in, n, results, sizes[16 + results]));
    /* a library must cope with memory that lies at any address: every other output's does */
    t->data = (char *)aligned_alloc(64, (bytes(t) + 128) / 64 * 64) + (results & 1) * widths[t->dtype];
  }
  for (int i = 0; i < calls; i++) check(F(run)(in, n, out, results));
  for (int i = 0; i < results; i++) {
    sprintf(path, "out%d.bin", i);
    FILE *data = fopen(path, "wb");
    fwrite(out[i].data, 1, bytes(&out[i]), data);
    fclose(data);
    printf("%d", out[i].ndim);
    for (int d = 0; d < out[i].ndim; d++) printf(" %ld", out[i].sizes[d]);
    printf("\n");
  }
  return 0;
}

/* Calls libmlp.so rightly and wrongly, from several threads; NAME_run never crashes for what it can see. */
#include "mlp.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static float x[2][4] = {{1, 2, 3, 4}, {-1, 0.5f, 0, 2}};
static const int64_t x_sizes[2] = {2, 4}, out_sizes[2] = {2, 3};

static int failed;

static void expect(int code, int want, const char *text) {
  if (code == want && strstr(mlp_error(), text) && (want || !*mlp_error())) return;
  printf("got %d %s, want %d %s\n", code, mlp_error(), want, text);
  failed = 1;
}

static void *calls(void *result) {
  for (int i = 0; i < 200; i++) {
    mlp_tensor in = {x, MLP_FLOAT32, 2, x_sizes}, out = {result, MLP_FLOAT32, 2, out_sizes};
    if (mlp_run(&in, 1, &out, 1)) return "failed";
  }
  return 0;
}

int main(void) {
  float y[2][3] = {{0}}, others[4][6];
  mlp_tensor in = {x, MLP_FLOAT32, 2, x_sizes}, out = {y, MLP_FLOAT32, 2, out_sizes};
  expect(mlp_threads(0), MLP_ERROR_ARGUMENT, "must be 1 to 128");
  expect(mlp_threads(2), MLP_OK, "");
  expect(mlp_run(&in, 1, &out, 1), MLP_OK, "");
  expect(mlp_threads(3), MLP_ERROR_STATE, "has run already");

  expect(mlp_run(&in, 2, &out, 1), MLP_ERROR_ARGUMENT, "number of inputs is 2, and must be 1");
  expect(mlp_run(0, 1, &out, 1), MLP_ERROR_ARGUMENT, "number of inputs");
  expect(mlp_run(&in, 1, &out, 0), MLP_ERROR_ARGUMENT, "number of outputs");
  mlp_tensor bad = in;
  bad.dtype = MLP_FLOAT64;
  expect(mlp_run(&bad, 1, &out, 1), MLP_ERROR_ARGUMENT, "x: its dtype is float64, and must be float32");
  bad.dtype = -7;
  expect(mlp_run(&bad, 1, &out, 1), MLP_ERROR_ARGUMENT, "none of those of the header");
  bad = in, bad.ndim = 3;
  expect(mlp_run(&bad, 1, &out, 1), MLP_ERROR_ARGUMENT, "x: its number of dimensions is 3, and must be 2");
  bad = in, bad.data = 0;
  expect(mlp_run(&bad, 1, &out, 1), MLP_ERROR_ARGUMENT, "x: its data is missing");
  bad = in, bad.sizes = 0;
  expect(mlp_run(&bad, 1, &out, 1), MLP_ERROR_ARGUMENT, "x: its sizes are missing");
  const int64_t wide[2] = {2, 5}, one[2] = {1, 4}, less[2] = {-2, 4}, huge[2] = {1LL << 62, 4};
  bad = in, bad.sizes = wide;
  expect(mlp_run(&bad, 1, &out, 1), MLP_ERROR_ARGUMENT, "x.size[1] is 5, and must be 4");
  bad.sizes = one;
  expect(mlp_run(&bad, 1, &out, 1), MLP_ERROR_ARGUMENT, "x.size[0] is 1, and must be at least 2");
  bad.sizes = less;
  expect(mlp_run(&bad, 1, &out, 1), MLP_ERROR_ARGUMENT, "x.size[0] is -2");
  bad.sizes = huge;
  expect(mlp_run(&bad, 1, &out, 1), MLP_ERROR_ARGUMENT, "must be at most");
  bad = out, bad.sizes = x_sizes;
  expect(mlp_run(&in, 1, &bad, 1), MLP_ERROR_ARGUMENT, "out.size[1] is 4, and must be 3");
  bad = out, bad.dtype = MLP_INT32;
  expect(mlp_run(&in, 1, &bad, 1), MLP_ERROR_ARGUMENT, "out: its dtype is int32");

  int64_t sizes[2];
  expect(mlp_output_sizes(&in, 1, 0, sizes), MLP_OK, "");
  expect(mlp_output_sizes(&in, 1, 1, sizes), MLP_ERROR_ARGUMENT, "no such output");
  if (sizes[0] != 2 || sizes[1] != 3 || mlp_input(1) || mlp_output(-1) || strcmp(mlp_input(0)->name, "x") ||
      mlp_input(0)->sizes[0] != -1 || mlp_output(0)->sizes[1] != 3 || MLP_NUM_INPUTS != 1 || MLP_NUM_OUTPUTS != 1) {
    printf("the description is wrong\n");
    failed = 1;
  }

  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, calls, others[i]);
  for (int i = 0; i < 4; i++) {
    void *wrong;
    pthread_join(threads[i], &wrong);
    if (wrong || memcmp(others[i], y, sizeof y)) {
      printf("a thread's result differs\n");
      failed = 1;
    }
  }
  for (int i = 0; i < 2; i++) printf("%.4f %.4f %.4f\n", y[i][0], y[i][1], y[i][2]);
  return failed;
}

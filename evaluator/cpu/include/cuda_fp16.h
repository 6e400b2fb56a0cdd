#error "cuda_fp16.h is not there yet on the CPU back end"

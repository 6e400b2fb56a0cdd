#error "cuda_pipeline.h is not there yet on the CPU back end"

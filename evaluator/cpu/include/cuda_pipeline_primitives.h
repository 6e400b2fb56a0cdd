#error "cuda_pipeline_primitives.h is not there yet on the CPU back end"

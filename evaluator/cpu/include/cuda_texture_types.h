#error "cuda_texture_types.h is not there yet on the CPU back end"

#error "cooperative_groups/memcpy_async.h is not there yet on the CPU back end"

// For host code; device code has no use for it.
#include "../kr/cuda.h"

// The device clock is not there; its type is.
#include "../kr/cuda.h"

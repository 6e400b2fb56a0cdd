#include "../kr/cuda.h"

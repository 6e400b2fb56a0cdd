#include "contract.h"

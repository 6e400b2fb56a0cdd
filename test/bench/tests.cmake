if(TARGET kevin-cuda)
  kr_unit(bench cuda_time kevin-cuda kevin-evaluator)
endif()

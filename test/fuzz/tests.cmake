# cmake --preset fuzz; build/fuzz/test/fuzz/fuzz_lex -max_total_time=60
function(kr_fuzz name)
  if(KR_FUZZ)
    add_executable(${name} fuzz/${name}.c)
    target_link_libraries(${name} PRIVATE kr-flags ${ARGN} -fsanitize=fuzzer)
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fuzz)
  endif()
endfunction()

kr_fuzz(fuzz_lex kevin-base)
kr_fuzz(fuzz_expr kevin-base)
kr_fuzz(fuzz_reply kevin-driver)
kr_fuzz(fuzz_sse kevin-driver)

kr_tool(marker-dump kevin-marker)
kr_tool(nvrtc_compile kevin-base ${CMAKE_DL_LIBS})
kr_tool(slice_dump kevin-clang)
kr_tool(facts_dump kevin-clang)

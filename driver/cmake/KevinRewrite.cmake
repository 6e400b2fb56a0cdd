# kevin_rewrite_add_target(<name> TARGETS <target>... [CHECK] [ARGS <arg>...])
#
# Adds a custom target that runs kevin-rewrite on the CUDA sources of the given
# targets, with their compile_commands.json. It is never part of ALL: a build
# that edits its own inputs would build for ever. With CHECK it only checks the
# ledger, offline, which is fit for CI; without, it edits the sources in place.
#
#   find_package(KevinRewrite CONFIG REQUIRED)
#   kevin_rewrite_add_target(rewrite-kernels TARGETS solver)
#   kevin_rewrite_add_target(check-kernels TARGETS solver CHECK)

function(kevin_rewrite_add_target name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CHECK" "" "TARGETS;ARGS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kevin_rewrite_add_target(${name}): not understood: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_TARGETS)
    message(FATAL_ERROR "kevin_rewrite_add_target(${name}): name at least one target after TARGETS")
  endif()
  if(NOT CMAKE_EXPORT_COMPILE_COMMANDS)
    message(WARNING "kevin_rewrite_add_target(${name}): CMAKE_EXPORT_COMPILE_COMMANDS is off, so "
                    "sources are parsed without their flags; set it ON")
  endif()
  set(sources "")
  foreach(target IN LISTS arg_TARGETS)
    if(NOT TARGET ${target})
      message(FATAL_ERROR "kevin_rewrite_add_target(${name}): ${target} is no target")
    endif()
    get_target_property(files ${target} SOURCES)
    get_target_property(dir ${target} SOURCE_DIR)
    foreach(file IN LISTS files)
      if(file MATCHES "\\.cuh?$")
        cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${dir} NORMALIZE)
        list(APPEND sources ${file})
      endif()
    endforeach()
  endforeach()
  if(NOT sources)
    message(FATAL_ERROR "kevin_rewrite_add_target(${name}): no .cu or .cuh among the sources of "
                        "${arg_TARGETS}")
  endif()
  list(REMOVE_DUPLICATES sources)
  if(arg_CHECK)
    set(mode --check)
  else()
    set(mode --in-place)
  endif()
  set(database "")
  if(CMAKE_EXPORT_COMPILE_COMMANDS)
    set(database -p ${CMAKE_BINARY_DIR})
  endif()
  if(TARGET KevinRewrite::kevin-rewrite)
    set(program KevinRewrite::kevin-rewrite)
  else()
    find_program(KEVIN_REWRITE kevin-rewrite REQUIRED)
    set(program ${KEVIN_REWRITE})
  endif()
  add_custom_target(${name}
    COMMAND ${program} ${mode} ${database} ${arg_ARGS} ${sources}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    COMMENT "kevin-rewrite ${mode}"
    USES_TERMINAL VERBATIM COMMAND_EXPAND_LISTS)
endfunction()

# cmake -DOUT=x.c -DROOT=folder -DFILES=a.txt;b/c.txt -P embed.cmake: one C table of
# files, by their names in ROOT without .txt.
set(arrays "")
set(rows "")
set(n 0)
foreach(file ${FILES})
  file(RELATIVE_PATH name ${ROOT} ${file})
  string(REGEX REPLACE "\\.txt$" "" name ${name})
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "static const char text_${n}[] = {\n${bytes}0};\n")
  string(APPEND rows "  {\"${name}\", text_${n}},\n")
  math(EXPR n "${n} + 1")
endforeach()
file(WRITE ${OUT} "// Made by driver/cmake/embed.cmake.\n#include \"driver/prompt_texts.h\"\n\n${arrays}\n"
  "const struct prompt_text prompt_texts[] = {\n${rows}};\nconst unsigned n_prompt_texts = ${n};\n")

# cmake -DOUT=x.c -DFILE=a.sql -DNAME=symbol -P embed_one.cmake: one C array of a file.
file(READ ${FILE} hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUT} "// Made by driver/cmake/embed_one.cmake.\n"
  "extern const char ${NAME}[];\nconst char ${NAME}[] = {\n${bytes}0};\n")

kr_unit(base err kevin-base)
kr_unit(base lex kevin-base)
kr_unit(base expr kevin-base)
kr_unit(base source kevin-base)

kr_tool(replace_tool kevin-rewriter)

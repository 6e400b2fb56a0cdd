kr_tool(marker-dump kevin-marker)

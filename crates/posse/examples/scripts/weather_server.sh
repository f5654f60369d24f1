# A small MCP server on standard input and output, with one tool.
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"weather","version":"1"}}' ;;
    *'"method":"tools/list"'*) result='{"tools":[{"name":"forecast","description":"Tells the weather of a city.","inputSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]}' ;;
    *'"method":"tools/call"'*) result='{"content":[{"type":"text","text":"sunny, 12 degrees"}]}' ;;
    *'"method":"ping"'*) result='{}' ;;
    *) [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}\n' "$id"; continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done

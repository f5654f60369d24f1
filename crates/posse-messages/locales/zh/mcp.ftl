# What `posse-mcp` says. A message is said with `say!`.

## server.rs

mcp-loop-crashed = 与主机通信的循环崩溃了
mcp-tool-unknown = 没有名为 `{ $name }` 的主机工具
mcp-address-unusable = 无法监听 { $address }
mcp-address-unusable-hint = 可能有其他程序占用；端口 0 会选用任意空闲端口
mcp-your-answer = 您的回答
mcp-your-decision = 您的决定

## sampling.rs

host-model-unavailable = 没有已连接的主机出借它的模型
host-model-unavailable-hint = `model: host` 用于 `posse mcp` 且主机提供 sampling 时；请指定其他模型，或其后的 `fallback_models`
mcp-install-unreadable = { $file } 无法按 { $host } 的格式读取，因此未作更改
mcp-install-unreadable-hint = 不带 --write 的 `posse mcp install` 会显示要添加的内容
mcp-install-nowhere = 没有可写入的主目录
mcp-doctor-silent = 服务器在 { $seconds } 秒内未响应 { $method }
mcp-doctor-not-started = 无法启动服务器
cannot-be-written = 无法写入 { $path }

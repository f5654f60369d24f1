# 日本語。用語集は core.ftl にある。

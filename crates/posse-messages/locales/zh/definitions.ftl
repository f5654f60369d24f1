# 简体中文。术语表见 core.ftl。

# Français. Le glossaire est dans core.ftl.

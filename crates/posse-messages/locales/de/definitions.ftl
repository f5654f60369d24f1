# Deutsch. Das Glossar steht in core.ftl.

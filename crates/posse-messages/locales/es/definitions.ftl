# Español. El glosario está en core.ftl.

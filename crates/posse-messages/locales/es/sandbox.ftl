# Español. El glosario está en core.ftl.

supervisor-silent = no respondió a tiempo
supervisor-without-report = terminó sin informe
supervisor-lost = se perdió el supervisor del comando: { $how }; se terminaron { $ended } procesos del comando
supervisor-lost-hint = el comando puede haber hecho parte de su trabajo; no debe terminar ni detener a su proceso padre
supervisor-not-started = no se puede iniciar el supervisor `{ $program }`: { $error }
supervisor-not-started-hint = comprueba que el directorio de trabajo existe y que quedan procesos y descriptores de archivo
workspace-failed =
    { $what ->
        [open] no se puede abrir el espacio de trabajo `{ $root }`: { $cause }
       *[resolve] no se puede resolver el espacio de trabajo `{ $root }`: { $cause }
    }
workspace-failed-hint = el espacio de trabajo debe ser un directorio existente al que puedas entrar
openat2-missing = este sistema no puede abrir archivos de forma segura bajo un directorio (openat2: { $cause })
openat2-missing-hint = las herramientas de archivos necesitan Linux 5.6 o posterior y un sandbox que permita openat2
sandbox-write-opens = `sandbox.write`: `{ $path }` abriría `{ $secret }` a los comandos
sandbox-write-opens-hint = nombra en su lugar lo que hay al lado
sandbox-unprotected-unknown = `sandbox.unprotected`: `{ $name }` no es un nombre protegido
sandbox-unprotected-unknown-hint = docs/protected.md enumera los nombres protegidos; escribe uno exactamente como está allí

# Meldungen von `posse-setup`.

mode-plan = plan · liest nur
mode-ask = ask · fragt vor jeder Änderung und jedem Befehl
mode-ask-edits = ask · fragt vor jeder Änderung
mode-auto = auto · Änderungen und Befehle ohne Rückfrage
mode-auto-edits = auto · Änderungen ohne Rückfrage
mode-no-terminal = es gibt kein Terminal: --mode auto ändert und führt Befehle aus
mode-no-screen = dieses Terminal kann nicht fragen (dumb oder kleiner als 40×8): --mode auto ändert und führt Befehle aus
mode-bubblewrap = Sandbox bubblewrap, { $network }
mode-bubblewrap-closed = Sandbox bubblewrap, { $network }; `sandbox.top` ist geschlossen
mode-landlock = Sandbox Landlock, { $network }; Befehle legen oben im Arbeitsbereich nichts an (bubblewrap installieren)
mode-unconfined = Befehle sind nicht abgeschottet
mode-no-network = kein Netz
mode-network = Netz { $reach }
mode-sandbox-off = keine Befehle: `sandbox.tier` ist `off` (--allow bash führt sie ohne Sandbox aus)
mode-commands-denied = keine Befehle: die Konfiguration verbietet sie
mode-no-sandbox = keine Befehle: nichts kann sie hier abschotten; bubblewrap 0.8 installieren (`posse doctor` sagt warum)
mode-plan-allows-no = `{ $tool }` ändert etwas, und der Modus `plan` liest nur
mode-plan-allows-no-hint = nimm --mode ask oder --mode auto, oder lass --allow weg
temperature-range = eine Zahl von 0 bis 2
private-address-invalid = `{ $raw }` ist keine Adresse wie `127.0.0.1:8080`
hooks-too-many = höchstens { $most } Hooks sind erlaubt
project-cannot-set = { $path }: `{ $key }` kann ein Projekt nicht setzen
project-cannot-script = { $path }: `{ $key }` kann in einem Projekt kein `scripted:`-Modell sein
project-cannot-hint = trage es in die Konfiguration des Benutzers ein oder übergib `--config { $path }`, wenn du dieser Datei vertraust
foreign-project-file = { $path } gehört einem anderen Benutzer und wird nicht gelesen; `--config { $path }` liest sie
file-unreadable = { $path } ist nicht lesbar
file-unreadable-hint = prüfe den Pfad und seine Berechtigungen
not-a-price = { $path }: `prices."{ $model }"`: { $wrong } ist kein Preis
session-tools-invalid = `session.tools`: { $why }
no-place-for-tasks = es gibt keinen Ort für Aufgaben: HOME ist nicht gesetzt
no-place-for-tasks-hint = setze HOME oder nenne ein Verzeichnis mit --state
effort-invalid = muss low, medium, high oder max sein
dollars-invalid = ein Betrag in US-Dollar ist größer als null, etwa 0.50
no-config-directory = es gibt kein Verzeichnis für die Konfiguration: weder HOME noch XDG_CONFIG_HOME ist gesetzt
tool-broken = das Werkzeug `{ $name }` ist nicht benutzbar: { $why }
config-not-a-table = `{ $key }` ist ein Wert, keine Tabelle
config-key-invalid = `{ $key }` ist kein Name einer Einstellung
config-key-hint = schreibe ihn mit Punkten, etwa `limits.max_turns`; Teile mit anderen Zeichen in Anführungszeichen
config-secret = `{ $key }` würde ein Geheimnis in die Konfiguration schreiben
config-secret-hint = `posse setup` speichert einen Schlüssel in einer Datei, die nur du lesen kannst; `api_key_env` nennt eine Variable
config-not-set = `{ $key }` ist nicht gesetzt
config-list-hint = `posse config list` zeigt, was gesetzt ist
span-range = erlaubt ist 1 Sekunde bis { $most }
posse-inside-posse = dieses Posse wurde von einer Aufgabe gestartet, die nicht delegieren darf
posse-inside-posse-hint = erledige die Arbeit in der Aufgabe selbst, oder delegiere aus der Aufgabe darüber
topic-terminal = Terminal
agent-or-file-unknown = kein Agent und keine Datei eines Agenten heißt `{ $unknown }`
agents-list-hint = `posse agents list` zeigt, was es gibt
standing-broken = nicht vertraut, und kann so nicht laufen
standing-not-trusted = nicht vertraut: `posse trust` lässt ihn laufen
standing-not-ours = gehört einem anderen Benutzer, dem nicht vertraut werden kann
field-mapped = übertragen: { $into }
field-ignored = ignoriert: { $why }
costs-in-list = { $tokens } in einer Liste von Agenten
hidden-from-models = Modelle sehen ihn nicht; ein Mensch kann ihn mit --agent nennen
costs-when-listed = { $tokens }, wann immer einem Modell die Agenten aufgezählt werden
doctor-no-configuration = keine; `posse init` schreibt eine, deine wäre { $user }
doctor-no-keys = keine in der Umgebung gefunden
doctor-key-unreadable = { $file } ist nicht lesbar oder leer; `posse setup` speichert einen Schlüssel
doctor-key-wins = { $file } (gilt vor { $variable })
doctor-key-none = kein Schlüssel
doctor-model-not-asked = { $model }, nicht gefragt (--online fragt)
doctor-answered = { $model } hat in { $seconds } s geantwortet · mit dem Schlüssel gibt es { $models } Modelle
doctor-answered-unlisted = { $model } hat in { $seconds } s geantwortet · seine Modelle werden nicht aufgezählt: { $why }
doctor-lists-nothing = { $provider } zählt keine Modelle auf, also wurde keines gefragt
doctor-confinement = Dateien: vom Kernel geprüfte Pfade im Arbeitsbereich · Befehle: { $commands }
doctor-mode = am Terminal { $here }, ohne eines { $elsewhere }
doctor-unprotected = {" "}· nicht geschützt: { $names } (`sandbox.unprotected`)
doctor-approvals-default = Aufrufe, nach denen Agentendateien fragen
doctor-approvals-unattended = hier abgelehnt; an einem Terminal wirst du gefragt
doctor-approvals-listed = Aufrufe in `approvals.allow` laufen ohne Rückfrage, alle anderen werden abgelehnt
doctor-approvals-deny = ohne Rückfrage abgelehnt
doctor-approvals-ask = du wirst gefragt; { $default } nach { $seconds } s ohne Antwort
doctor-sandbox-network = Netz: { $network }
doctor-top-open = der Arbeitsbereich ist beschreibbar bis auf geschützte Namen
doctor-top-closed = nichts Neues oben im Arbeitsbereich (bubblewrap öffnet ihn)
doctor-sandbox-hint = oder `tier = "off"` unter `[sandbox]` in der Konfiguration des Benutzers setzen
doctor-sandbox-off = (`sandbox.tier` ist `off`)
doctor-only-with-allow = nur mit --allow: { $names }
doctor-delegation =
    Tiefe { $depth } · bis zu { $running_max ->
        [one] { $running_max } laufende Aufgabe
       *[other] { $running_max } laufende Aufgaben
    } je Auftraggeber, { $beyond } · bis zu { $open_max ->
        [one] { $open_max } offene Aufgabe
       *[other] { $open_max } offene Aufgaben
    }
doctor-limit-rejects = weitere werden abgelehnt
doctor-limit-queues = weitere warten in der Schlange
doctor-not-trusted = { $untrusted } nicht vertraut: posse trust
doctor-agents = { $usable } von { $all } benutzbar
doctor-agents-check = posse agents check sagt mehr zu jedem
doctor-to-delegate = { $parts } · { $total } zum Delegieren
doctor-store = { $path } · { $tasks } · { $size } · unversehrt
doctor-retention-none = bleiben bis `posse gc` oder `posse tasks delete`
doctor-retention-age = Aufgaben gehen { $age } nach ihrem Ende
doctor-retention-size = die ältesten gehen, wenn der Speicher größer als { $size } ist
doctor-retention-last = letztes `posse gc`: vor { $age }, { $tasks } gelöscht
state-warning = Warnung
state-ready = bereit
state-disabled = abgeschaltet
state-not-trusted = nicht vertraut
none = keine
row-agent = Agent
row-standing = Stand
row-hidden-by = verdeckt von
row-shadows = verdeckt
row-model = Modell
row-tools = Werkzeuge
row-not-given = fehlt
row-rule = Regel
row-costs = kostet
row-name = Name
row-from = aus
row-description = Beschreibung
row-verify = Prüfung
row-limits = Grenzen
row-note = Hinweis
agent-version = { $name } (Version { $version }, { $state })
standing-trusted = vertraut
field-honoured = beachtet
guard-rail = ein Muster, das einen Befehl verbietet, ist ein Geländer und keine Mauer: was ein Befehl erreicht, entscheidet die Sandbox
topic-version = Version
topic-configuration = Konfiguration
topic-model = Modell
topic-keys = Schlüssel
topic-online = online
topic-base-url = Basis-URL
topic-confinement = Abschottung
topic-mode = Modus
topic-tools = Werkzeuge
topic-delegation = Delegieren
topic-agents = Agenten
topic-prompt-tokens = Prompt-Token
topic-store = Speicher
topic-retention = Aufbewahrung
topic-log = Protokoll
topic-traces = Traces
agent-file-look = siehe `posse agents check { $name }`
agent-file-look-more =
    { $n ->
        [one] { $n } weiterer: `posse agents check { $name }`
       *[other] { $n } weitere: `posse agents check { $name }`
    }

//! What a command does beside what its first word says: it runs another one, runs a text, or writes a file that an option
//! names. Whoever allowed `find *` hardly meant `find . -exec rm …`.
//!
//! For comfort, not for safety: a program that is not in these tables can still run others. The kernel is the boundary.

/// A second effect of a command, and the word that causes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HiddenEffect<'a> {
    pub kind: HiddenKind,
    /// The word: the program itself, an option, or a subcommand.
    pub word: &'a str,
    /// Its place.
    pub at: usize,
}

/// Kinds of hidden effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HiddenKind {
    /// Runs a command that begins at one of the words behind.
    Words,
    /// The same, and adds words that cannot be seen.
    MoreWords,
    /// Runs the text of a shell, which is one of the words behind.
    Shell,
    /// Runs a text in some language, or whatever is typed into it.
    Text,
    /// Runs a text that comes from its input.
    Input,
    /// Writes a file.
    File,
}

/// Programs that run what comes after them, with options of their own.
const RUNNERS: &str = "\
    env command nohup time exec builtin sudo doas nice ionice chrt taskset timeout stdbuf unbuffer \
    setsid busybox toybox chroot unshare nsenter setpriv capsh runuser pkexec run0 systemd-run \
    systemd-inhibit firejail bwrap flock strace ltrace valgrind perf caffeinate torsocks proxychains \
    proxychains4 rlwrap dbus-run-session xvfb-run catchsegv eatmydata fakeroot faketime \
    start-stop-daemon daemonize choom prlimit numactl cpulimit hyperfine npx bunx uvx pipx dotenv direnv \
    nix-shell poetry uv pnpx arch linux64 linux32 setarch softlimit chpst gosu su-exec dumb-init tini \
    ld.so ld-linux-x86-64.so.2";

/// Programs that run what comes after them with more words, or elsewhere.
const MORE: &str = "\
    xargs parallel entr watch watchexec inotifywait ssh mosh docker podman nerdctl kubectl lxc \
    machinectl vagrant tmux screen zellij su script expect at batch crontab socat nc ncat netcat gdb \
    lldb rr";

/// Programs that run a text. With a script instead they are what their words say.
const SHELLS: &str = "sh bash dash ash zsh ksh mksh fish csh tcsh rbash pwsh powershell nu xonsh";

/// Builtins and programs whose words or input are a text to run, or that people type commands into.
const TEXTS: &str = "\
    eval source . trap alias export declare typeset enable function \
    vi vim nvim view vimdiff rvim ex ed red emacs emacsclient nano pico joe micro hx code less more most \
    lynx w3m links ftp lftp sftp telnet mail mutt mc ranger irb ghci sqlite3 psql mysql mariadb mongosh \
    redis-cli dc m4 gnuplot octave tclsh wish osascript jjs jshell scala clj";

/// Interpreters, and the options before a text. With a file instead they are what their words say.
const INTERPRETERS: &[(&str, &str)] = &[
    ("python", "-c -i"),
    ("pypy", "-c -i"),
    ("perl", "-e -E -n -p -M -x -d"),
    ("ruby", "-e -n -p -r -x"),
    ("node", "-e -p -r --eval --print --require --import --loader --experimental-loader"),
    ("bun", "-e --eval --print x"),
    ("deno", "eval repl"),
    ("php", "-r -B -R -E -d"),
    ("lua", "-e -l -i"),
    ("luajit", "-e -l -i"),
    ("rscript", "-e"),
    ("r", "-e"),
    ("julia", "-e -E --eval --print"),
    ("elixir", "-e --eval"),
    ("erl", "-eval -run -s"),
    ("groovy", "-e"),
    ("racket", "-e"),
    ("guile", "-c"),
    ("swift", "-e"),
    ("java", "-javaagent -agentlib -agentpath -XX"),
];

/// Options and subcommands that make a program run something. One letter is also found among others.
const RUN_BY_OPTION: &[(&str, &str)] = &[
    ("find", "-exec -execdir -ok -okdir"),
    ("fd", "-x -X --exec --exec-batch"),
    ("fdfind", "-x -X --exec --exec-batch"),
    ("rg", "--pre --hostname-bin"),
    ("ag", "--pager"),
    ("ack", "--pager"),
    ("bat", "--pager"),
    ("man", "-P -H -p --pager --html --preprocessor"),
    ("tar", TAR),
    ("bsdtar", "--use-compress-program"),
    ("gtar", TAR),
    ("rsync", "-e --rsh --rsync-path"),
    ("scp", "-S -o -F -D"),
    ("sort", "--compress-program"),
    ("split", "--filter"),
    ("zip", "-T --unzip-command"),
    ("wget", "-e --execute --use-askpass"),
    ("curl", "-K --config"),
    ("tcpdump", "-z"),
    ("cargo", "--config"),
    ("npm", "exec x explore --script-shell"),
    ("pnpm", "exec dlx"),
    ("yarn", "exec dlx"),
    ("go", "-exec -toolexec -vettool"),
    ("make", "--eval -f --file --makefile SHELL"),
    ("gmake", "--eval -f --file --makefile SHELL"),
    ("cmake", "-P -E"),
    ("gcc", "-wrapper -fplugin -specs"),
    ("clang", "-fplugin -load"),
    ("gh", "alias extension codespace"),
    ("hg", "--config --debugger"),
    ("svn", "--config-option --diff-cmd --diff3-cmd --editor-cmd"),
    ("ip", "exec"),
    ("openssl", "-engine -provider"),
];

const TAR: &str = "\
    -I -F --checkpoint-action --to-command --use-compress-program --rsh-command --rmt-command --info-script \
    --new-volume-script";

/// Options and subcommands of git, each for some subcommands only where one letter means different things.
const GIT_RUNS: &[(&str, &str)] = &[
    ("", "--upload-pack --receive-pack --exec --ext-diff --open-files-in-pager --extcmd --template"),
    ("clone", "-c -u --config"),
    ("rebase", "-x"),
    ("grep", "-O"),
    ("difftool", "-x"),
    ("submodule", "foreach"),
    ("bisect", "run"),
];
const GIT_SUBCOMMANDS: &str = "\
    config difftool mergetool filter-branch hook daemon instaweb web--browse credential send-email \
    remote-ext upload-pack receive-pack shell fast-import gui citool p4 svn";
/// Options before the subcommand that have a value behind them.
const GIT_VALUES: &str = "-C --git-dir --work-tree --namespace --attr-source --super-prefix";

/// Options that name a file to write.
const WRITE_BY_OPTION: &[(&str, &str)] = &[
    ("find", "-delete -fprint -fprint0 -fprintf -fls"),
    ("sort", "-o --output"),
    ("curl", "-o -O -T -c -D --output --remote-name --upload-file --cookie-jar --dump-header"),
    ("wget", "-O -o -P --output-document --output-file --post-file --directory-prefix"),
    ("git", "--output"),
    ("yq", "-i --inplace"),
    ("tree", "-o"),
    ("date", "-s --set"),
];

/// The first word that says so.
pub fn hidden(words: &[String]) -> Option<HiddenEffect<'_>> {
    let program = words.first()?;
    let base = base_name(program);
    let whole = |kind| Some(HiddenEffect { kind, word: program.as_str(), at: 0 });
    if has(RUNNERS, &base) {
        return whole(HiddenKind::Words);
    }
    if has(MORE, &base) {
        return whole(HiddenKind::MoreWords);
    }
    if has(TEXTS, &base) {
        return whole(HiddenKind::Text);
    }
    if has(SHELLS, &base) {
        return if runs_text(&words[1..]) { whole(HiddenKind::Shell) } else { None };
    }
    match base.as_str() {
        "git" => git(words),
        "sed" | "gsed" => sed(words),
        "awk" | "gawk" | "mawk" | "nawk" => awk(words),
        // The old way to write its options, without a dash.
        "tar" | "gtar" if words.get(1).is_some_and(|first| is_option(&format!("-{first}"), "-I")) => {
            Some(HiddenEffect { kind: HiddenKind::Words, word: &words[1], at: 1 })
        }
        _ => interpreter(&base, words).or_else(|| {
            option(table(RUN_BY_OPTION, &base), words, 1, HiddenKind::Words)
                .or_else(|| option(table(WRITE_BY_OPTION, &base), words, 1, HiddenKind::File))
        }),
    }
}

/// A name without its directory and its version: `/usr/bin/python3.12` is `python`.
pub fn base_name(program: &str) -> String {
    let name = program.rsplit('/').next().unwrap_or(program).to_ascii_lowercase();
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let is_versioned = INTERPRETERS.iter().any(|(known, _)| *known == bare);
    if is_versioned { bare.to_owned() } else { name.strip_suffix(".exe").unwrap_or(&name).to_owned() }
}

/// Tells whether a word is this option: abbreviated, with a value, or among bundled letters.
pub fn is_option(word: &str, option: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    if option.starts_with("--") {
        // Programs that take shortened options need as much as makes them unique; four letters are a guess.
        return name == option || (name.len() >= 6 && option.starts_with(name));
    }
    match option.strip_prefix('-') {
        Some(letter) if letter.len() == 1 => {
            let letters = word.strip_prefix('-').unwrap_or_default();
            let is_cluster = letters.len() <= 5 && letters.bytes().all(|b| b.is_ascii_alphabetic());
            word.starts_with(option) || (is_cluster && letters.contains(letter))
        }
        Some(_) | None => name == option,
    }
}

/// `sh -c text`, or a text from standard input.
fn runs_text(arguments: &[String]) -> bool {
    arguments.first().is_none_or(|first| first.starts_with(['-', '+']))
}

/// Lists are texts with spaces between the names.
fn has(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == name)
}

fn table(table: &[(&str, &'static str)], program: &str) -> &'static str {
    table.iter().find(|(known, _)| *known == program).map_or("", |(_, options)| options)
}

fn option<'a>(options: &str, words: &'a [String], from: usize, kind: HiddenKind) -> Option<HiddenEffect<'a>> {
    if options.is_empty() {
        return None;
    }
    let words = words.iter().enumerate().skip(from);
    let is_one = |word: &str| options.split_ascii_whitespace().any(|option| is_option(word, option));
    let mut found = words.filter(|(_, word)| is_one(word));
    found.next().map(|(at, word)| HiddenEffect { kind, word, at })
}

fn interpreter<'a>(base: &str, words: &'a [String]) -> Option<HiddenEffect<'a>> {
    let (_, options) = INTERPRETERS.iter().find(|(known, _)| *known == base)?;
    if words.len() == 1 {
        return Some(HiddenEffect { kind: HiddenKind::Input, word: &words[0], at: 0 });
    }
    // What stands behind the script is the script's own.
    let is_own = |word: &&String| word.starts_with('-') || has(options, word);
    let own = 1 + words[1..].iter().take_while(is_own).count();
    let input = || {
        let at = words[..own].iter().position(|word| word == "-")?;
        Some(HiddenEffect { kind: HiddenKind::Input, word: &words[at], at })
    };
    option(options, &words[..own], 1, HiddenKind::Text).or_else(input)
}

fn git(words: &[String]) -> Option<HiddenEffect<'_>> {
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        if word.starts_with("-c")
            || ["--config-env", "--exec-path"].iter().any(|option| is_option(word, option))
        {
            return Some(HiddenEffect { kind: HiddenKind::Text, word, at });
        }
        at += if has(GIT_VALUES, word) { 2 } else { 1 };
    }
    let subcommand = words.get(at)?;
    if has(GIT_SUBCOMMANDS, subcommand) {
        return Some(HiddenEffect { kind: HiddenKind::Text, word: subcommand, at });
    }
    let own = [table(GIT_RUNS, ""), table(GIT_RUNS, subcommand)].join(" ");
    let remote = || {
        let mut rest = words.iter().enumerate().skip(at + 1);
        rest.find(|(_, word)| word.contains("ext::")).map(|(at, word)| HiddenEffect {
            kind: HiddenKind::Text,
            word,
            at,
        })
    };
    option(&own, words, at + 1, HiddenKind::Text)
        .or_else(remote)
        .or_else(|| option(table(WRITE_BY_OPTION, "git"), words, at + 1, HiddenKind::File))
}

/// `w` writes, `e` runs, `-i` writes, `-f` reads them from a file. Only what is plainly harmless is.
fn sed(words: &[String]) -> Option<HiddenEffect<'_>> {
    let mut scripts = 0;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let is_expression = word == "-e" || word == "--expression";
        let text = match word.as_str() {
            "-n" | "-E" | "-r" | "-s" | "-u" | "-z" | "-nE" | "-En" | "-nr" | "--quiet" | "--silent"
            | "--" => None,
            _ if is_expression => {
                at += 1;
                Some(words.get(at).map_or("", String::as_str))
            }
            _ if word.starts_with('-') => return Some(HiddenEffect { kind: HiddenKind::Text, word, at }),
            // Files come behind the script.
            text if scripts == 0 => Some(text),
            _ => None,
        };
        if let Some(text) = text {
            scripts += 1;
            if !is_plain_sed(text) {
                return Some(HiddenEffect {
                    kind: HiddenKind::Text,
                    word: &words[at.min(words.len() - 1)],
                    at,
                });
            }
        }
        at += 1;
    }
    None
}

fn is_plain_sed(script: &str) -> bool {
    script.split(';').all(|script| {
        let script = script.trim();
        let command = script.trim_start_matches(|c: char| c.is_ascii_digit() || c == ',' || c == '$');
        match command.strip_prefix('s') {
            None => matches!(command, "p" | "d" | "q" | "="),
            Some(rest) => {
                let mut chars = rest.chars();
                let Some(mark) = chars.next().filter(char::is_ascii_punctuation) else { return false };
                let parts: Vec<&str> = chars.as_str().split(mark).collect();
                let is_flag = |c: char| c.is_ascii_digit() || "gIip".contains(c);
                parts.len() == 3 && parts[2].chars().all(is_flag)
            }
        }
    })
}

fn awk(words: &[String]) -> Option<HiddenEffect<'_>> {
    let acts = |word: &str| {
        ["system", "getline", "|", ">", "@", "close", "fflush"].iter().any(|act| word.contains(act))
            || ["-f", "-i", "-l", "-E"].iter().any(|option| word.starts_with(option))
            || word.starts_with("--")
    };
    let mut words = words.iter().enumerate().skip(1);
    words.find(|(_, word)| acts(word)).map(|(at, word)| HiddenEffect { kind: HiddenKind::Text, word, at })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Option<(HiddenKind, String)> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        hidden(&words).map(|hidden| (hidden.kind, hidden.word.to_owned()))
    }

    #[test]
    fn what_people_write_every_day_hides_nothing() {
        let everyday = "\
            git status; git log --oneline -10; git switch -c new; git push -u origin main; git -C sub diff; git commit -m run; \
            git grep -n exec; find . -name x -type f; rg -n pre src; sed -n 1,20p file; sed s/a/b/g file; sed -e s/a/b/ -e 3d file; \
            tar czf a.tgz dir; tar -xzf a.tgz; sort -u file; python script.py -c x; python3 tools/x.py; node server.js -e; python -m pytest; cmake -DCMAKE_BUILD_TYPE=Release; set -e; \
            cargo test --workspace; npm run test; npm test; sh build.sh; bash ./x.sh -c y; curl https://docs.rs; \
            go build; make test; awk {print} f; ls -la; jq .a file; date; \
            wget https://docs.rs/x";
        for line in everyday.split("; ") {
            assert_eq!(found(line), None, "{line}");
        }
    }

    #[test]
    fn the_word_that_hides_something_is_found() {
        for (line, kind, word) in [
            ("/usr/bin/env x", HiddenKind::Words, "/usr/bin/env"),
            ("ls --x", HiddenKind::Words, ""),
            ("xargs rm", HiddenKind::MoreWords, "xargs"),
            ("bash -lc x", HiddenKind::Shell, "bash"),
            ("python3.12 -Bc x", HiddenKind::Text, "-Bc"),
            ("python3", HiddenKind::Input, "python3"),
            ("python3 -", HiddenKind::Input, "-"),
            ("git -ccore.pager=x log", HiddenKind::Text, "-ccore.pager=x"),
            ("git -C x --config-env=a=b log", HiddenKind::Text, "--config-env=a=b"),
            ("git clone -c a=b u", HiddenKind::Text, "-c"),
            ("git fetch ext::sh", HiddenKind::Text, "ext::sh"),
            ("git diff --output=x", HiddenKind::File, "--output=x"),
            ("tar -xIf x", HiddenKind::Words, "-xIf"),
            ("tar xIf x", HiddenKind::Words, "xIf"),
            ("tar cf x --checkpoint-act=exec=y", HiddenKind::Words, "--checkpoint-act=exec=y"),
            ("sed w/x f", HiddenKind::Text, "w/x"),
            ("sed -i s/a/b/ f", HiddenKind::Text, "-i"),
            ("sed s/a/b/e f", HiddenKind::Text, "s/a/b/e"),
            ("sed s/a/b/w/x f", HiddenKind::Text, "s/a/b/w/x"),
            ("find . -delete", HiddenKind::File, "-delete"),
        ] {
            let expected = (!word.is_empty()).then(|| (kind, word.to_owned()));
            assert_eq!(found(line), expected, "{line}");
        }
    }
}

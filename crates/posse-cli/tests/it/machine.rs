//! Faults of the machine around Posse: limits of the system, certificates, what dead processes leave behind.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};

use crate::support::{Place, Ran};

/// Limits the size of files that a command may write, as `ulimit -f` does.
fn limited(mut command: Command, bytes: u64) -> Command {
    // SAFETY: one system call between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
            match libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        })
    };
    command
}

#[test]
fn a_limit_on_the_size_of_files_is_a_full_disk_and_no_sudden_end() {
    let place = Place::new();
    let model = place.script("[{text: Done.}]");
    let ran = Ran::of(limited(place.posse(["run", "--json", "--model", &model, "Go"]), 4096));
    assert_eq!(ran.code, 1, "a signal would have ended it: {ran:?}");
    assert!(ran.stderr.contains("error[DISK_FULL]"), "{ran:?}");
}

/// What a task did can be read although not a byte can be written.
#[test]
fn a_full_disk_still_shows_tasks_and_says_that_nothing_can_be_written() {
    let place = Place::new();
    place.write("workspace/a.txt", "1\n");
    let model = place.script(
        r#"[{calls: [{read: {path: a.txt}}]}, {calls: [{write: {path: a.txt, content: "2\n"}}]}, {text: Done.}]"#,
    );
    let run = place.run(["run", "--json", "--model", &model, "Go"]);
    let id = run.envelope()["task_id"].as_str().unwrap().to_owned();
    let reads: [(&[&str], &str); 8] = [
        (&["tasks", "list"], &id),
        (&["tasks", "show", &id], "answer  Done."),
        (&["tasks", "show", &id, "--json"], "\"record\":\"finished\""),
        (&["tasks", "diff", &id], "+2"),
        (&["tasks", "export", &id], "Done."),
        (&["cost"], "total"),
        (&["sessions", "list"], &id),
        (&["context", "list"], ""),
    ];
    for (args, expected) in reads {
        let ran = Ran::of(limited(place.posse(args.iter().copied()), 0));
        assert!(ran.code == 0 && ran.stdout.contains(expected), "{args:?}: {ran:?}");
        let warning = "warning: the store is open for reading only: there is no space left";
        assert!(ran.stderr.starts_with(warning), "{args:?}: {ran:?}");
    }
    let refused = Ran::of(limited(place.posse(["tasks", "delete", &id]), 0));
    assert!(refused.code == 1 && refused.stderr.contains("error[DISK_FULL]"), "{refused:?}");
}

/// Commands have the signal's usual handling, whatever Posse itself does.
#[test]
fn a_command_that_writes_too_much_is_ended_by_the_signal_as_everywhere() {
    let place = Place::new();
    let model = place.script(
        "- calls: [{bash: {command: 'ulimit -f 1; head -c 100000 /dev/zero > $TMPDIR/big; echo code $?'}}]\n\
         - text: '{result:0}'\n",
    );
    let ran = place.run(["run", "--allow", "bash,write", "--model", &model, "Go"]);
    assert!(ran.stdout.contains("code 153"), "128 + SIGXFSZ: {ran:?}");
}

#[test]
fn temporary_directories_of_dead_processes_are_removed_at_the_next_start() {
    let place = Place::new();
    let left = |name: &str| {
        let path = place.root().join("tmp").join(name);
        std::fs::create_dir_all(path.join("inside")).unwrap();
        path
    };
    let dead = left("posse-4194999-1700000000000000000");
    let other = left("posse-notes");
    let model = place.script("[{text: Done.}]");
    let mut command = place.posse(["run", "--model", &model, "Go"]);
    command.env("TMPDIR", place.root().join("tmp"));
    let ran = Ran::of(command);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!dead.exists() && other.exists());
}

/// A server whose certificate nobody vouches for. Counts who connects.
fn self_signed() -> (String, Arc<AtomicUsize>) {
    let certificate = CertificateDer::from(include_bytes!("self_signed.der").to_vec());
    let key = PrivatePkcs8KeyDer::from(include_bytes!("self_signed_key.der").to_vec());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], PrivateKeyDer::Pkcs8(key))
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::Relaxed);
            let mut connection = ServerConnection::new(config.clone()).unwrap();
            // Fails when the client refuses the certificate.
            let _ = connection.complete_io(&mut socket);
            let _ = connection.complete_io(&mut socket);
        }
    });
    (url, connections)
}

#[test]
fn a_bad_certificate_is_named_and_nobody_tries_again() {
    let (place, (url, connections)) = (Place::new(), self_signed());
    let config = format!("[providers.work]\nwire = \"openai\"\nbase_url = \"{url}\"\n");
    place.write("home/.config/posse/config.toml", &config);
    let ran = place.run(["run", "--json", "--model", "work:m", "Go"]);
    let detail = ran.envelope()["detail"].to_string();
    assert!(detail.contains("certificate: "), "{ran:?}");
    assert_eq!(connections.load(Ordering::Relaxed), 1, "{ran:?}");
}

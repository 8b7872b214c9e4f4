//! Servers that go away, and connections that break.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::scene::{Scene, until};
use crate::world::{Folder, finish, wait};

#[test]
fn a_run_is_followed_over_the_death_of_its_server() {
    let mut scene = Scene::with_options(&["--lease", "1"]);
    scene.provider.hang(false);
    scene.provider.wait_before_answers(Duration::from_millis(1_500));
    let child = scene.client(&["run", "pair", "-i", "text=tea"]).spawn().unwrap();
    until("the second call", || scene.provider.asked().len() == 2);
    scene.restart_server();
    let ended = wait(child);
    ended.exits(0).says(&["the connection to the server was lost; trying again"]);
    assert!(ended.out.contains("more about tea"), "{ended:?}");
    // The first call is not paid again. The second one had no answer yet.
    let asked = scene.provider.asked();
    assert_eq!(asked.iter().filter(|prompt| *prompt == "about tea").count(), 1, "{asked:?}");
    assert_eq!(scene.remote(&["runs", "list", "--output", "json"]).json()["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_start_whose_answer_was_lost_starts_once() {
    let scene = Scene::start();
    let (address, seen) = cutting_proxy(&scene.server.address, 1);
    let mut command = scene.client(&["run", "hello", "-i", "text=tea", "--quiet"]);
    command.env("TREFOIL_SERVER", address);
    let ended = finish(command);
    assert_eq!(ended.exits(0).out, "about tea\n");
    assert!(seen.load(Ordering::SeqCst) >= 2, "it was sent again");
    assert_eq!(scene.provider.asked().len(), 1);
    assert_eq!(scene.remote(&["runs", "list", "--output", "json"]).json()["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_server_that_is_not_there_starts_nothing() {
    let mut scene = Scene::start();
    scene.kill_server();
    for args in [&["runs", "list"][..], &["run", "hello"], &["resume", "last"], &["runs", "cancel", "abc"]] {
        let ran = scene.remote(args);
        ran.exits(2).says(&["cannot be reached", "trefoil serve"]);
        assert_eq!(ran.out, "");
    }
}

#[test]
fn what_is_no_server_is_not_believed() {
    let says = |answer: &'static str| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut buffer = [0; 4096];
                let _ = stream.read(&mut buffer);
                let _ = stream.write_all(answer.as_bytes());
                let _ = stream.shutdown(Shutdown::Both);
            }
        });
        let folder = Folder::new();
        let mut command = folder.command(&["runs", "list"]);
        command.env("TREFOIL_SERVER", address);
        finish(command)
    };
    let page = says("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>");
    page.exits(2).says(&["sent an answer that cannot be read"]);
    let moved = says("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n");
    moved.exits(2).says(&["a redirect, which is not followed"]);
    let gone = says("HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnope");
    gone.exits(2).says(&["answered with status 404"]);
    // A text that would move the cursor.
    let evil =
        says("HTTP/1.1 409 Conflict\r\ncontent-length: 40\r\n\r\n{\"code\":\"X\",\"detail\":\"\\u001b[2J\\u202ea\"} ");
    evil.exits(2).says(&["X: \\u{1b}[2J\\u{202e}a"]);
    assert!(!evil.err.contains('\u{1b}'), "{evil:?}");
}

/// Passes connections on to a server. Of the first ones, the request arrives, and the answer does not.
fn cutting_proxy(server: &str, cut: usize) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let target = server.strip_prefix("http://").unwrap().to_owned();
    let seen = Arc::new(AtomicUsize::new(0));
    let posts = seen.clone();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (target, posts) = (target.clone(), posts.clone());
            std::thread::spawn(move || pass_on(client, &target, &posts, cut));
        }
    });
    (address, seen)
}

fn pass_on(mut client: TcpStream, target: &str, posts: &AtomicUsize, cut: usize) {
    let mut server = TcpStream::connect(target).unwrap();
    let (mut from, mut back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let copier = std::thread::spawn(move || std::io::copy(&mut from, &mut back));
    let mut buffer = [0; 64 << 10];
    while let Ok(count) = client.read(&mut buffer)
        && count > 0
    {
        let is_cut = buffer.starts_with(b"POST") && posts.fetch_add(1, Ordering::SeqCst) < cut;
        if is_cut {
            // The server gets the request, and nobody hears its answer.
            let _ = client.shutdown(Shutdown::Both);
        }
        server.write_all(&buffer[..count]).unwrap();
        if is_cut {
            std::thread::sleep(Duration::from_secs(1));
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
    let _ = copier.join();
}

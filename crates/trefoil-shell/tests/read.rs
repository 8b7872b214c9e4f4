//! How scripts are parsed.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use expect_test::expect;
use trefoil_shell::{CommandSubstitution, HOLE, QuoteStyle, ShellCommand, ShellScript, ShellWordPart, parse_script};

/// Parses a script in which `@@` is a hole.
fn script(text: &str) -> ShellScript {
    let mut holes = Vec::new();
    let mut whole = String::new();
    for (i, part) in text.split("@@").enumerate() {
        if i > 0 {
            holes.push(whole.len());
            whole.push(HOLE);
        }
        whole.push_str(part);
    }
    parse_script(&whole, &holes)
}

/// One line for each command.
fn shown(text: &str) -> String {
    let script = script(text);
    let mut lines: Vec<String> = script.commands.iter().map(command).collect();
    lines.extend(script.open.map(|quote| format!("open {quote}")));
    lines.extend((!script.comments.is_empty()).then(|| format!("comments {:?}", script.comments)));
    lines.extend(script.here_document.map(|hole| format!("here-document from hole {hole}")));
    lines.join("\n")
}

fn command(command: &ShellCommand) -> String {
    let mut all: Vec<String> = command.words.iter().map(|w| word(w)).collect();
    all.extend(command.redirects.iter().map(|(kind, w)| format!("{kind:?} {}", word(w))));
    all.extend(command.defines.then(|| "(".to_owned()));
    all.extend(command.piped.then(|| "|".to_owned()));
    all.join(" ")
}

fn word(parts: &[ShellWordPart]) -> String {
    let quote = |quoted: &QuoteStyle| match quoted {
        QuoteStyle::Not => "",
        QuoteStyle::Single => "'",
        QuoteStyle::Double => "\"",
    };
    let all: Vec<String> = parts
        .iter()
        .map(|part| match part {
            ShellWordPart::Text(text, quoted) => format!("{}{}{}", quote(quoted), text.escape_debug(), quote(quoted)),
            ShellWordPart::Hole { number, quoted, escaped } => {
                format!("{}<{}{number}>{}", quote(quoted), if *escaped { "\\" } else { "" }, quote(quoted))
            }
            ShellWordPart::Variable(name, quoted) => format!("{}${name}{}", quote(quoted), quote(quoted)),
            ShellWordPart::Expansion { name, parts } => format!("${{{name}: {}}}", word(parts)),
            ShellWordPart::Commands(from, commands) => {
                let inner: Vec<String> = commands.iter().map(command).collect();
                let (open, close) = match from {
                    CommandSubstitution::Dollar => ("$(", ")"),
                    CommandSubstitution::Backtick => ("`", "`"),
                    CommandSubstitution::Process => ("<(", ")"),
                };
                format!("{open}{}{close}", inner.join("; "))
            }
            ShellWordPart::Arithmetic(inner) => format!("(({}))", word(inner)),
            ShellWordPart::Subscript(name, inner) => format!("{name}[{}]", word(inner)),
            ShellWordPart::Indirect(name) => format!("!{name}"),
            ShellWordPart::Evaluated(name) => format!("eval {name}"),
        })
        .collect();
    all.join("·")
}

#[test]
fn words_and_quotes() {
    expect![[r#"
        a 'b c'·"d "·"$e"·f g '' "$x\\y"
        next"#]]
    .assert_eq(&shown("a 'b c'\"d $e\"f\\ g '' \"\\$x\\y\" # a comment\nnext"));
    expect!["A=1 B+=2 cmd -x=·$y $1 $12 $# $$"].assert_eq(&shown("A=1 B+=2 cmd -x=$y $1 ${12} $# $$"));
}

#[test]
fn commands_and_what_joins_them() {
    expect![[r#"
        a |
        b
        c
        d
        e
        f
        if x
        then y |
        z"#]]
    .assert_eq(&shown("a | b || c && d; e & f\nif x; then y; fi | z"));
    expect![[r#"
        a
        b
        Write f
        f (
        { c
        x= (
        1 2"#]]
    .assert_eq(&shown("(a; b) > f; f() { c; }; x=(1 2)"));
    expect![[r#"
        a Read b Errors c Write d Text e
        g Write h Errors 1"#]]
    .assert_eq(&shown("a < b 2> c > d <<< e; g >| h 2>&1"));
}

#[test]
fn commands_in_words() {
    expect![[r#"a ""·$(b ""·$(c ')')) `d `e`` <(f)"#]].assert_eq(&shown("a \"$(b \"$(c ')')\")\" `d \\`e\\`` <(f)"));
    expect![[r#"
        a (("1 + (b)")) $(c |; d) $(e |; f) (("g")) (
        h
        let (("i"))
        j"#]]
    .assert_eq(&shown("a $((1 + (b))) $( (c) | d) $((e) | f) $[g] ((h)); ((i)) && j"));
}

#[test]
fn expansions() {
    expect![[r#"a ${b: $b·""·"$c"} ${d: e} ${f: $f·(("$g"·":1"))} ${h: $h·$(i)} ${j: j["$k"]·$j} ${l: !l} ${m: } ${n: eval n} ${o: } $p ${q: $q}"#]].assert_eq(&shown(
        "a ${b:-\"$c\"} ${d:+e} ${f:$g:1} ${h#$(i)} ${j[$k]} ${!l} ${!m[@]} ${n@P} ${#o} ${p[@]} ${q@Q}",
    ));
}

#[test]
fn here_documents() {
    expect![[r#"
        cat |
        a Text "$x"·" \"y\" "·"<0>"·"\n"
        b Text '$z\n'
        c
        here-document from hole 0"#]]
    .assert_eq(&shown("cat <<EOF | a\n$x \"y\" @@\nEOF\nb <<-'E'\n$z\n\tE\nc"));
}

#[test]
fn holes_stand_where_they_are() {
    expect![[r#"
        <0> a·<1>·b ''·'<2>' ""·"<3>" <\4> $(<5>) `<6>` (("<7>")) ${a: $a·<8>} Write <9>
        comments [10]"#]]
    .assert_eq(&shown("@@ a@@b '@@' \"@@\" \\@@ $(@@) `@@` $((@@)) ${a:-@@} > @@ # @@"));
    assert_eq!(shown("echo \u{fffc}"), "echo \u{fffc}");
}

#[test]
fn what_is_not_closed_ends_with_the_text() {
    let all = ["a 'b", "a \"b $(c", "a `b", "a $((b", "a ${b", "a \\", "a <<E\nb", "((a"];
    let all: Vec<String> = all.iter().map(|text| shown(text).replace('\n', " / ")).collect();
    expect![[r#"
        a 'b' / open '
        a "b "·$(c) / open "
        a `b` / open `
        a (("b"))
        a $b
        a
        a Text "b\n" / here-document from hole 0
        let (("a"))"#]]
    .assert_eq(&all.join("\n"));
}

/// Whether a word has a hole at any depth.
fn has_hole(parts: &[ShellWordPart]) -> bool {
    parts.iter().any(|part| match part {
        ShellWordPart::Hole { .. } => true,
        ShellWordPart::Expansion { parts: inner, .. }
        | ShellWordPart::Arithmetic(inner)
        | ShellWordPart::Subscript(_, inner) => has_hole(inner),
        ShellWordPart::Commands(_, commands) => commands.iter().any(|c| c.words.iter().any(|w| has_hole(w))),
        _ => false,
    })
}

#[test]
fn nothing_that_is_nested_too_deep_is_lost_silently() {
    for open in ["$(", "\"$(", "${a:-", "<(", "(", "((", "$((", "`", "$["] {
        for depth in [3, 30, 20_000] {
            let script = script(&format!("echo {} @@", open.repeat(depth)));
            let read = script.commands.iter().any(|c| c.words.iter().any(|w| has_hole(w)));
            assert!(read || script.unread == Some(0) || open == "`", "{open} {depth}: {script:?}");
        }
    }
}

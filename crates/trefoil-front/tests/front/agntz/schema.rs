//! Input and output schemas, both syntaxes.

use expect_test::expect;

use super::support::{MODEL, changes, check, check_one};

#[test]
fn shorthand_mistakes_are_at_their_keys() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
inputSchema:
  q: strng
  n: { type: number, default: "5", min: 1, max: 10 }
  e: { type: string, enum: [a, 5], default: b }
  f: { enum: [a] }
  g: 5
  h: { type: string, required: true }
  i: { type: string, pattern: "(", nullable: true, minLenght: 3 }
  j: { type: [integer, "null"] }
  k: { type: object, properties: { a: int, b: { type: boolean, default: 5 } } }
  l: { $ref: "http://x.example/s.json", type: string }
"#,
        expect![[r#"
            error 6:6 invalid-schema: unknown type `strng` (did you mean `string`? available: `string`, `number`, `integer`, `boolean`, `object`, `array`, `null`) {fix: "string"}
            error 7:31 invalid-schema: the default does not match its own schema: the text `5` is not of type `number`
            error 8:32 invalid-schema: this choice does not match the type [8:14 the type]
            error 8:45 invalid-schema: the default does not match its own schema: `b` is not one of `a` or 5
            error 9:3 invalid-schema: `f` needs `type` (available: `string`, `number`, `integer`, `boolean`, `object`, `array`, `null`)
            error 10:6 invalid-schema: `g` must be a type or a definition, not a number (for example `g: string`; types are `string`, `number`, `integer`, `boolean`, `object`, `array`, `null`)
            error 11:32 invalid-schema: `required` must be a list of names, not a boolean (remove it: a property without `default` is required, and null if missing)
            error 12:31 invalid-schema: `(` is not a valid regular expression
            warning 12:36 unknown-key: a property has no key `nullable` (every property is optional; a missing one is null, or its `default`)
            warning 12:52 unknown-key: a property has no key `minLenght` (did you mean `minLength`?) {fix: "minLength"}
            error 14:39 invalid-schema: unknown type `int` (did you mean `integer`? available: `string`, `number`, `integer`, `boolean`, `object`, `array`, `null`) {fix: "integer"}
            error 14:73 invalid-schema: the default does not match its own schema: 5 is not of type `boolean`
            error 15:14 invalid-schema: `http://x.example/s.json` points outside the schema (use a local reference, for example `#/$defs/name`)
        "#]],
    );
}

#[test]
fn canonical_mistakes_are_at_their_keys() {
    check_one(
        r##"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
inputSchema:
  type: object
  properties:
    a: { type: strin }
    b: { type: string, minimum: x, minLength: -1 }
    c: { $ref: "#/$defs/nope" }
    d: { $ref: "other.json" }
    e: { enum: [] }
    f: { anyOf: [] }
    g: { min: 5, x-note: fine }
    h: { required: true }
    i: { type: [~] }
    j: [string]
  required: [a, bb]
"##,
        expect![[r#"
            error 8:16 invalid-schema: unknown type `strin` (did you mean `string`? available: `string`, `number`, `integer`, `boolean`, `object`, `array`, `null`) {fix: "string"}
            error 9:33 wrong-type: `minimum` must be a number, not text
            error 9:47 wrong-type: `minLength` must be a whole number from 0, not a number
            error 10:16 invalid-schema: `#/$defs/nope` points to nothing
            error 11:16 invalid-schema: `other.json` points outside the schema (use a local reference, for example `#/$defs/name`)
            error 12:16 invalid-schema: `enum` is empty, so no value is valid
            error 13:17 wrong-type: `anyOf` must be a list of at least one schema, not a list
            warning 14:10 unknown-key: JSON Schema has no keyword `min` (did you mean `minimum`?) {fix: "minimum"}
            error 15:20 invalid-schema: `required` must be a list of names, not a boolean (write a list of required names next to `properties`)
            error 16:17 invalid-schema: a type must be text (write `"null"` in quotes)
            error 17:8 wrong-type: a schema must be a mapping, not a list (write `key: value` on each line, without a dash before it)
        "#]],
    );
}

#[test]
fn a_schema_is_a_mapping() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
inputSchema: [q]
"#,
        expect![[r#"
            error 5:14 wrong-type: `inputSchema` must be a mapping, not a list (write `inputSchema: { q: string }`, with every name that it lists)
        "#]],
    );
}

#[test]
fn a_half_canonical_schema_is_said() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
inputSchema:
  type: object
outputSchema:
  type: array
  items: string
"#,
        expect![[r#"
            warning 6:3 invalid-schema: this declares a property named `type`, because `properties` is missing next to it (to use JSON Schema, write `type: object` and `properties:`)
            warning 8:3 invalid-schema: this declares a property named `type`, because `properties` is missing next to it (to use JSON Schema, write `type: object` and `properties:`)
        "#]],
    );
}

#[test]
fn a_property_may_be_called_type() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
outputSchema:
  type: string
  name: string
"#,
        expect![""],
    );
}

#[test]
fn all_types_and_bounds_work() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: "{{a}} {{b}} {{c}} {{d.x}} {{e.0}} {{f}}"
inputSchema:
  a: string
  b: { type: integer, min: 1, maximum: 5, default: 3 }
  c: boolean
  d: { type: object, properties: { x: string } }
  e: { type: array, items: number, minItems: 1 }
  f: { type: string, enum: [x, y], default: ~ }
"#,
        expect![""],
    );
}

#[test]
fn an_invalid_schema_declares_no_names() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: "{{a}} {{b}}"
inputSchema: { a: strng }
"#,
        expect![[r#"
            warning 4:23 unresolved-name: `b` is not declared: it is null unless the input has it (did you mean `a`? available: `a`) {maybe: "a"}
            error 5:19 invalid-schema: unknown type `strng` (did you mean `string`? available: `string`, `number`, `integer`, `boolean`, `object`, `array`, `null`) {fix: "string"}
        "#]],
    );
}

#[test]
fn a_schema_that_nothing_fits_contradicts_itself() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
inputSchema:
  a: { type: number, min: 9, max: 1 }
  b: { type: string, minLength: 5, maxLength: 2 }
  c: { type: array, items: { type: string }, minItems: 4, maxItems: 2 }
  d: { type: number, minimum: 2, maximum: 2 }
  e: { type: number, exclusiveMinimum: 2, maximum: 2 }
outputSchema:
  type: object
  properties:
    n: { type: integer, minimum: 9, maximum: 1 }
  required: [n, n]
"#,
        expect![[r#"
            error 6:35 invalid-schema: no value is valid: `min` 9 is above `max` 1 [6:27 `min`]
            error 7:47 invalid-schema: no value is valid: `minLength` 5 is above `maxLength` 2 [7:33 `minLength`]
            error 8:69 invalid-schema: no value is valid: `minItems` 4 is above `maxItems` 2 [8:56 `minItems`]
            error 10:52 invalid-schema: no value is valid: `exclusiveMinimum` 2 is no less than `maximum` 2 [10:40 `exclusiveMinimum`]
            error 14:46 invalid-schema: no value is valid: `minimum` 9 is above `maximum` 1 [14:34 `minimum`]
            error 15:17 invalid-schema: `n` is listed twice [15:14 the first one]
        "#]],
    );
    let closed = [(
        "agent.yaml",
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
outputSchema:
  type: object
  properties: { n: { type: integer } }
  required: [m]
  additionalProperties: false
"#,
    )];
    check(
        &closed,
        expect![[r#"
            error 8:14 invalid-schema: `m` is required but not in `properties`, and additional properties are not allowed, so no value is valid (did you mean `n`?) [9:3 no others] {maybe: "n"}
        "#]],
    );
}

#[test]
fn schemas_say_what_has_no_meaning() {
    let input = |property: &str| {
        format!("id: a\nkind: llm\n{MODEL}\ninputSchema:\n  t: {property}\ninstruction: \"{{{{t}}}}\"\n")
    };
    check_one(
        &input("{ type: array, properties: { a: string } }"),
        expect![[r#"
            warning 5:21 invalid-schema: `properties` has no effect with `type: array`: it is for `type: object` (describe what a list contains under `items`: `items: { type: object, properties: ... }`) [5:14 the type]
        "#]],
    );
    check_one(
        &input("{ type: string, items: string }"),
        expect![[r#"
            warning 5:22 invalid-schema: `items` has no effect with `type: string`: it is for `type: array` (write `type: array`, or remove `items`) [5:14 the type]
        "#]],
    );
    check_one(
        &input("{ type: string, enum: [a, b, b] }"),
        expect![[r#"
            warning 5:35 invalid-schema: `b` is listed twice [5:32 the first one]
        "#]],
    );
    check_one(
        &input("\n    type: string\n    default:"),
        expect![[r#"
            warning 7:5 no-effect: `default` has no value, so it has no effect
        "#]],
    );
    check_one(&input("{ type: string, default: null }"), expect![""]);
    assert_eq!(changes(&[("a.yaml", &input("any"))]).sure, [""; 0]);
    assert_eq!(changes(&[("a.yaml", &input("str"))]).sure, ["string"]);
    let blank = "id: p\nkind: sequential\ninputSchema: { k: { type: string, enum: [\"billing \", other] } }\nsteps: [ { ref: c, when: \"{{k}} == billing\" } ]\n";
    assert_eq!(changes(&[("p.yaml", blank)]).sure, [""; 0]);
}

#[test]
fn a_limit_is_for_one_type() {
    let input = |property: &str| {
        format!("id: a\nkind: llm\n{MODEL}\ninputSchema:\n  t: {property}\ninstruction: \"{{{{t}}}}\"\n")
    };
    for (property, expected) in [
        (
            "{ type: array, min: 1 }",
            expect![[r#"
                warning 5:21 invalid-schema: `min` has no effect with `type: array`: it is for `type: number` and `type: integer` (write `minItems`) [5:14 the type] {maybe: "minItems"}
            "#]],
        ),
        (
            "{ type: string, max: 100 }",
            expect![[r#"
                warning 5:22 invalid-schema: `max` has no effect with `type: string`: it is for `type: number` and `type: integer` (write `maxLength`) [5:14 the type] {maybe: "maxLength"}
            "#]],
        ),
        (
            "{ type: integer, minLength: 2 }",
            expect![[r#"
                warning 5:23 invalid-schema: `minLength` has no effect with `type: integer`: it is for `type: string` (write `minimum`) [5:14 the type] {maybe: "minimum"}
            "#]],
        ),
        (
            "{ type: boolean, min: 0 }",
            expect![[r#"
                warning 5:23 invalid-schema: `min` has no effect with `type: boolean`: it is for `type: number` and `type: integer` (remove `min`) [5:14 the type]
            "#]],
        ),
        (
            "{ type: array, items: { type: object, properties: { a: string } }, required: [a] }",
            expect![[r#"
                warning 5:73 invalid-schema: `required` has no effect with `type: array`: it is for `type: object` (describe the objects in a list under `items`) [5:14 the type]
            "#]],
        ),
    ] {
        check_one(&input(property), expected);
    }
    for (property, expected) in [
        ("{ type: array, minItems: 1 }", expect![""]),
        ("{ type: string, maxLength: 9 }", expect![""]),
        ("{ type: integer, min: 0, max: 4 }", expect![""]),
        ("{ type: [string, \"null\"], maxLength: 4 }", expect![""]),
    ] {
        check_one(&input(property), expected);
    }
    let items = "{ type: array }\n  items: { type: string }";
    check_one(
        &input(items),
        expect![[r#"
            warning 6:3 invalid-schema: `items` is read as a separate property, so `t` does not say what its items are (indent it to make it part of `t`) [5:3 the list]
        "#]],
    );
    check_one(&input(items).replace("{{t}}", "{{t}} {{items}}"), expect![""]);
}

#[test]
fn a_default_has_to_fit_where_it_is_passed() {
    let two = |own: &str, theirs: &str| {
        format!(
            "id: p\nkind: sequential\ninputSchema: {{ l: {own} }}\nsteps:\n  - agent: {{ id: b, kind: llm, {MODEL}, instruction: Hi., prompt: \"{{{{l}}}}\", inputSchema: {{ l: {theirs} }} }}\n    input: {{ l: \"{{{{l}}}}\" }}\n"
        )
    };
    let words = |all: &str, default: &str| format!("{{ type: string, enum: [{all}]{default} }}");
    check_one(
        &two(&words("de, en, fr", ", default: fr"), &words("de, en", "")),
        expect![[r#"
            warning 6:20 schema-mismatch: `l` of `b` does not accept the default of `l`: `fr` is not one of `de`, `en` or null [5:126 declared here] [3:16 its default is here]
        "#]],
    );
    check_one(
        &two("{ type: number, default: 2.5 }", "integer"),
        expect![[r#"
            warning 6:20 schema-mismatch: `l` of `b` does not accept the default of `l`: 2.5 is not of types `null`, `integer` [5:126 declared here] [3:16 its default is here]
        "#]],
    );
    check_one(&two(&words("de, en, fr", ", default: de"), &words("de, en", "")), expect![""]);
    check_one(&two("{ type: number, default: 2 }", "integer"), expect![""]);
}

#[test]
fn an_example_says_where_it_is_no_json() {
    let agent = format!(
        "id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\noutputSchema: {{ a: string }}\nexamples:\n  - input: x\n    output: '{{\"a\": \"b\",}}'\n"
    );
    check_one(
        &agent,
        expect![[r#"
            warning 8:24 schema-mismatch: this example is not JSON: trailing comma [5:1 answers must match this schema]
        "#]],
    );
}

#[test]
fn an_example_says_what_does_not_fit() {
    let agent = |output: &str| {
        format!(
            "id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\noutputSchema: {{ priority: integer }}\nexamples:\n  - input: x\n    output: '{output}'\n"
        )
    };
    check_one(
        &agent("{\"priority\": \"9\"}"),
        expect![[r#"
            warning 8:13 schema-mismatch: this example does not match the schema: the text `9` is not of type `integer` (at `/priority`) [5:1 answers must match this schema]
        "#]],
    );
    check_one(
        &agent("{\"prioriti\": 9}"),
        expect![[r#"
            warning 8:13 schema-mismatch: this example does not match the schema: Additional properties are not allowed ('prioriti' was unexpected) [5:1 answers must match this schema]
        "#]],
    );
}

#[test]
fn a_json_schema_that_is_nearly_one() {
    let found = |schema: &str, expected| {
        check_one(
            &format!(
                "id: a\nkind: llm\nmodel: {{ provider: openai, name: gpt-4o }}\ninstruction: hi\noutputSchema: {schema}\n"
            ),
            expected,
        )
    };
    found(
        "{ type: object, properties: [ { name: a } ] }",
        expect![[r#"
        error 5:43 invalid-schema: `properties` must be a mapping, not a list (write `NAME: { type: string }` for each property)
    "#]],
    );
    found(
        "{ type: obj, properties: { a: { type: string } } }",
        expect![[r#"
        error 5:23 invalid-schema: `type: obj` has no `properties` {maybe: "object"}
    "#]],
    );
    found(
        "{ type: string, properties: { a: { type: string } } }",
        expect![[r#"
        error 5:23 invalid-schema: `type: string` has no `properties` {maybe: "object"}
    "#]],
    );
    found(
        "{ type: string, properties: { type: array } }",
        expect![[r#"
            warning 5:17 invalid-schema: this declares a property named `type`, because `properties` is missing next to it (to use JSON Schema, write `type: object` and `properties:`)
        "#]],
    );
    found(
        "{ type: string, properties: string }",
        expect![[r#"
            warning 5:17 invalid-schema: this declares a property named `type`, because `properties` is missing next to it (to use JSON Schema, write `type: object` and `properties:`)
        "#]],
    );
}

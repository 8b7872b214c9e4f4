//! Input and output schemas, both syntaxes.

use super::support::expect;

#[test]
fn shorthand_mistakes_are_at_their_keys() {
    let manifests = [(
        "agent.yaml",
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
    )];
    expect(
        &manifests,
        r#"
            error 6:6 invalid-schema: `strng` is not a type (did you mean `string`? it can be one of `string`, `number`, `integer`, `boolean`, `object`, `array`, `null`)
            error 7:31 invalid-schema: the default does not fit its own schema: the text `5` is not of type `number`
            error 8:32 invalid-schema: this choice is not of the type [8:14 the type]
            error 8:45 invalid-schema: the default does not fit its own schema: `b` is not one of `a` or 5
            error 9:3 invalid-schema: `f` needs `type` (it can be one of string, number, integer, boolean, object, array, null)
            error 10:6 invalid-schema: `g` must be a type or a definition, not a number (for example `g: string`; types are string, number, integer, boolean, object, array, null)
            error 11:32 invalid-schema: `required` must be a list of names, not a boolean (drop it: a property without `default` is required, and null when it is missing)
            error 12:31 invalid-schema: `(` is not a valid regular expression
            warning 12:36 unknown-key: a property has no key `nullable` (every property is optional; a missing one is null, or its `default`)
            warning 12:52 unknown-key: a property has no key `minLenght` (did you mean `minLength`?)
            error 14:39 invalid-schema: `int` is not a type (did you mean `integer`? it can be one of `string`, `number`, `integer`, `boolean`, `object`, `array`, `null`)
            error 14:73 invalid-schema: the default does not fit its own schema: 5 is not of type `boolean`
            error 15:14 invalid-schema: `http://x.example/s.json` leads outside of the schema (only local references work, for example `#/$defs/name`)
        "#,
    );
}

#[test]
fn canonical_mistakes_are_at_their_keys() {
    let manifests = [(
        "agent.yaml",
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
    )];
    expect(
        &manifests,
        r##"
            error 8:16 invalid-schema: `strin` is not a type (did you mean `string`? it can be one of `string`, `number`, `integer`, `boolean`, `object`, `array`, `null`)
            error 9:33 wrong-type: `minimum` must be a number, not text
            error 9:47 wrong-type: `minLength` must be a whole number from 0, not a number
            error 10:16 invalid-schema: `#/$defs/nope` leads nowhere
            error 11:16 invalid-schema: `other.json` leads outside of the schema (only local references work, for example `#/$defs/name`)
            error 12:16 invalid-schema: `enum` has no value, so nothing fits
            error 13:17 wrong-type: `anyOf` must be a list of at least one schema, not a list
            warning 14:10 unknown-key: JSON Schema has no keyword `min` (did you mean `minimum`?)
            error 15:20 invalid-schema: `required` must be a list of names, not a boolean (it goes beside `properties` and lists the names that must be there)
            error 16:17 invalid-schema: a type is text (write `"null"` in quotes)
            error 17:8 wrong-type: a schema must be a mapping, not a list
        "##,
    );
}

#[test]
fn a_schema_is_a_mapping() {
    let manifests = [(
        "agent.yaml",
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
inputSchema: [q]
"#,
    )];
    expect(
        &manifests,
        r#"
            error 5:14 wrong-type: `inputSchema` must be a mapping, not a list
        "#,
    );
}

#[test]
fn a_half_canonical_schema_is_said() {
    let manifests = [(
        "agent.yaml",
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
    )];
    expect(
        &manifests,
        r#"
            warning 6:3 invalid-schema: this declares a property named `type`, because there is no `properties` mapping beside it (a JSON Schema here says `type: object` and has `properties:`)
            warning 8:3 invalid-schema: this declares a property named `type`, because there is no `properties` mapping beside it (a JSON Schema here says `type: object` and has `properties:`)
        "#,
    );
}

#[test]
fn a_property_may_be_called_type() {
    let manifests = [(
        "agent.yaml",
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
outputSchema:
  type: string
  name: string
"#,
    )];
    expect(
        &manifests,
        r#"

        "#,
    );
}

#[test]
fn all_types_and_bounds_work() {
    let manifests = [(
        "agent.yaml",
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
    )];
    expect(
        &manifests,
        r#"

        "#,
    );
}

#[test]
fn an_invalid_schema_declares_no_names() {
    let manifests = [(
        "agent.yaml",
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: "{{a}} {{b}}"
inputSchema: { a: strng }
"#,
    )];
    expect(
        &manifests,
        r#"
            warning 4:23 unresolved-name: `b` is not declared: it is null unless the input has it (did you mean `a`? there is `a`)
            error 5:19 invalid-schema: `strng` is not a type (did you mean `string`? it can be one of `string`, `number`, `integer`, `boolean`, `object`, `array`, `null`)
        "#,
    );
}

#[test]
fn a_schema_that_nothing_fits_contradicts_itself() {
    let manifests = [(
        "agent.yaml",
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
    )];
    expect(
        &manifests,
        r#"
            error 6:35 invalid-schema: nothing fits: `min` 9 is above `max` 1 [6:27 `min`]
            error 7:47 invalid-schema: nothing fits: `minLength` 5 is above `maxLength` 2 [7:33 `minLength`]
            error 8:69 invalid-schema: nothing fits: `minItems` 4 is above `maxItems` 2 [8:56 `minItems`]
            error 10:52 invalid-schema: nothing fits: `exclusiveMinimum` 2 is no less than `maximum` 2 [10:40 `exclusiveMinimum`]
            error 14:46 invalid-schema: nothing fits: `minimum` 9 is above `maximum` 1 [14:34 `minimum`]
            error 15:17 invalid-schema: `n` is in it twice [15:14 here already]
        "#,
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
    expect(
        &closed,
        r#"
            error 8:14 invalid-schema: `m` is required and not among `properties`, which are all there may be: nothing fits (did you mean `n`?) [9:3 no others]
        "#,
    );
}

//! What builds have added to the tables of format 1: a store of an earlier build lacks it.
//!
//! Each kind of store has a script of additions next to its first tables. A new store gets all of them. Opening a store for writing
//! runs the statements whose part is missing; a store that is only read stays as it is.

/// A statement of a script of additions.
#[derive(Debug)]
pub struct SchemaAddition {
    /// The statement, without comments.
    pub sql: String,
    /// What it adds.
    pub part: SchemaPart,
}

/// A part of a schema.
#[derive(Debug, PartialEq, Eq)]
pub enum SchemaPart {
    /// A table or an index.
    Object(String),
    /// A column of a table.
    Column {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
}

impl SchemaPart {
    /// What a statement adds. `None`: it is not an addition. Key words are in upper case.
    fn from_statement(sql: &str) -> Option<Self> {
        let mut words = Vec::new();
        for word in sql.split(|c: char| c.is_whitespace() || c == '(') {
            if !["", "IF", "NOT", "EXISTS", "UNIQUE"].contains(&word) {
                words.push(word);
            }
        }
        match words.as_slice() {
            ["CREATE", "TABLE" | "INDEX", name, ..] => Some(Self::Object((*name).to_owned())),
            ["ALTER", "TABLE", table, "ADD", "COLUMN", column, ..] => {
                Some(Self::Column { table: (*table).to_owned(), column: (*column).to_owned() })
            }
            _ => None,
        }
    }
}

/// The statements of a script. A test of each script makes sure that all of its statements are additions.
pub fn parse_additions(script: &str) -> Vec<SchemaAddition> {
    let mut text = String::new();
    for line in script.lines() {
        text.push_str(line.split("--").next().unwrap_or_default());
        text.push('\n');
    }
    let mut additions = Vec::new();
    for statement in text.split(';') {
        let sql = statement.trim();
        if let Some(part) = SchemaPart::from_statement(sql) {
            additions.push(SchemaAddition { sql: sql.to_owned(), part });
        }
    }
    additions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_of_the_scripts_is_an_addition() {
        for script in [include_str!("sqlite/additions.sql"), include_str!("postgres/additions.sql")] {
            let code: Vec<&str> = script.lines().map(|line| line.split("--").next().unwrap()).collect();
            let statements = code.join("\n").matches(';').count();
            assert_eq!(parse_additions(script).len(), statements, "{script}");
        }
    }

    #[test]
    fn what_a_statement_adds_is_read_from_its_first_words() {
        let script = "-- a comment; of two parts\nCREATE TABLE IF NOT EXISTS one(a TEXT); -- and another\n\
                      CREATE UNIQUE INDEX IF NOT EXISTS two ON one (a);\nALTER TABLE one ADD COLUMN\n  three TEXT;\n\
                      ALTER TABLE one ADD COLUMN IF NOT EXISTS four text;\nDROP TABLE one;";
        let parts: Vec<SchemaPart> = parse_additions(script).into_iter().map(|addition| addition.part).collect();
        let column = |name: &str| SchemaPart::Column { table: "one".into(), column: name.into() };
        let object = |name: &str| SchemaPart::Object(name.into());
        assert_eq!(parts, [object("one"), object("two"), column("three"), column("four")]);
    }
}

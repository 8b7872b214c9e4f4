//! What is proved about a program, and what nobody can see before it runs: one [`ProgramProof`] for each kind.
//!
//! A claim is made only if the rules that it rests on find nothing, whatever their levels, and whether or not a comment allows the
//! finding. Calls and cost depend on prices, so the caller completes that kind.

mod prover;

use trefoil_syntax::Location;

use crate::rule::{CheckRoot, finding_location};
use crate::semantic::SemanticModel;
use prover::ProgramProver;

/// A kind of proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofKind {
    /// References name something.
    Names,
    /// Values have the types that their readers need.
    Types,
    /// Values are written before they are read, and every run ends.
    Order,
    /// The number of calls, and their cost.
    Cost,
    /// Where secrets go.
    Secrets,
    /// What untrusted text decides.
    Untrusted,
    /// What is changed outside of the run.
    Writes,
}

impl ProofKind {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 7] =
        [Self::Names, Self::Types, Self::Order, Self::Cost, Self::Secrets, Self::Untrusted, Self::Writes];

    /// Its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Names => "names",
            Self::Types => "types",
            Self::Order => "order and ends",
            Self::Cost => "calls and cost",
            Self::Secrets => "secrets",
            Self::Untrusted => "untrusted text",
            Self::Writes => "writes",
        }
    }

    /// The rules on which its claims rest.
    pub const fn rule_names(self) -> &'static [&'static str] {
        match self {
            // What is wrong with a name prevents loading.
            Self::Names | Self::Cost => &[],
            Self::Types => &[
                "unknown-property",
                "property-of-text",
                "text-as-number",
                "not-a-list",
                "wrong-input-type",
                "tool-arguments",
                "index-out-of-range",
            ],
            Self::Order => {
                &["unordered-read", "write-conflict", "endless-loop", "loop-never-ends", "no-terminal-state"]
            }
            Self::Secrets => &[
                "secret-in-prompt",
                "secret-in-result",
                "secret-in-argument",
                "hard-coded-secret",
                "unencrypted-credential",
            ],
            Self::Untrusted => &["untrusted-command", "untrusted-url"],
            Self::Writes => &["repeated-write", "unreviewed-write", "bypassed-gate"],
        }
    }
}

/// What is known of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramProof {
    /// The kind.
    pub kind: ProofKind,
    /// What holds in every run.
    pub proved: Vec<String>,
    /// What could not be seen, and why.
    pub unseen: Vec<UnseenPart>,
}

/// Something that a proof does not cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnseenPart {
    /// What, and why.
    pub what: String,
    /// Its place.
    pub at: Option<Location>,
}

impl UnseenPart {
    fn new(what: impl Into<String>, at: Location) -> Self {
        Self { what: what.into(), at: Some(at) }
    }
}

/// The proofs about a run that starts at a root, in the order of [`ProofKind::ALL`]. `found`: the findings of all rules on which
/// claims rest.
pub(crate) fn build_proofs(
    model: &SemanticModel<'_>,
    root: &CheckRoot,
    found: &[trefoil_syntax::Diagnostic],
) -> Vec<ProgramProof> {
    let prover = ProgramProver::for_root(model, root);
    let mut all = Vec::new();
    for kind in ProofKind::ALL {
        let mut against = Vec::new();
        for finding in found {
            if kind.rule_names().contains(&finding.rule) {
                let what = format!("{} ({})", finding.message, finding.rule);
                against.push(UnseenPart { what, at: finding_location(finding) });
            }
        }
        let mut proof = ProgramProof { kind, proved: Vec::new(), unseen: Vec::new() };
        let holds = against.is_empty();
        match kind {
            ProofKind::Names => prover.prove_names(&mut proof),
            ProofKind::Types => prover.prove_types(&mut proof),
            ProofKind::Order => prover.prove_order(&mut proof, holds),
            ProofKind::Cost => {}
            ProofKind::Secrets => prover.prove_secrets(&mut proof, holds),
            ProofKind::Untrusted => prover.prove_untrusted_text(&mut proof, holds),
            ProofKind::Writes => prover.prove_writes(&mut proof, root),
        }
        proof.unseen.splice(0..0, against);
        all.push(proof);
    }
    all
}

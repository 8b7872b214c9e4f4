//! The one solver of conditions: which values make a condition true.
//!
//! | question | answer |
//! |---|---|
//! | which tests a condition consists of, which must all hold | [`TestTree::from_expression`], [`TestTree::needed_tests`] |
//! | whether it holds always, sometimes or never | [`condition_truth`], [`truth_of`] |
//! | which of several conditions hold together, for which values | [`ConditionCases`] |
//! | whether it holds if some values are known | [`ConditionCases::known_outcome`] |
//! | whether two conditions never hold together, for any number of them | [`TestTree::is_exclusive_with`] |
//! | whether it says the same as another one, or the opposite | [`TestTree::normalized_claim`] |
//! | whether it fails if some of its tests do | [`TestTree::fails_if`] |
//! | what values must be so that it holds, or does not | [`ConditionSolver`], [`ConditionTest::list_requirements`] |
//! | whether a value is like that, and which values are | [`ValueConstraint`] |
//! | which numbers a comparison accepts | [`NumberRange`] |
//!
//! Cases are tried with the evaluator of the run, because a second one would differ from it. Everything else goes by the
//! form of the condition, and says nothing about forms that it does not know.

mod condition_cases;
mod constraint;
mod random;
mod range;
mod requirement;
mod test_tree;

pub use condition_cases::{
    CaseValue, ConditionCase, ConditionCases, ConditionTruth, NumberLookup, condition_truth, truth_of,
};
pub use constraint::{ValueConstraint, filler_text, json_equal, pick_length, rounded_number, sample_item};
pub use random::{SplitMixRandom, stable_hash};
pub use range::NumberRange;
pub use requirement::{ConditionSolver, ValueRequirement};
pub use test_tree::{ConditionTest, NamedTest, TestTree, constant_value};

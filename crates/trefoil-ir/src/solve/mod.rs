//! The one solver of conditions: which values make a condition true.
//!
//! | question | answer |
//! |---|---|
//! | which tests a condition consists of, which must all hold | [`TestTree::of`], [`TestTree::needed`] |
//! | whether it holds always, sometimes or never | [`truth`], [`truth_of`] |
//! | which of several conditions hold together, for which values | [`Cases`] |
//! | whether it holds if some values are known | [`Cases::outcome`] |
//! | whether two conditions never hold together, for any number of them | [`TestTree::excludes`] |
//! | whether it says the same as another one, or the opposite | [`TestTree::about`] |
//! | whether it fails if some of its tests do | [`TestTree::fails_if`] |
//! | what values must be so that it holds, or does not | [`Solver`], [`ConditionTest::requirements`] |
//! | whether a value is like that, and which values are | [`Constraint`] |
//! | which numbers a comparison accepts | [`NumberRange`] |
//!
//! Cases are tried with the evaluator of the run, because a second one would differ from it. Everything else goes by the
//! form of the condition, and says nothing about forms that it does not know.

mod cases;
mod constraint;
mod random;
mod range;
mod requirement;
mod test_tree;

pub use cases::{Case, CaseValue, Cases, Numbers, Truth, truth, truth_of};
pub use constraint::{Constraint, filler, item, same, size, tidy};
pub use random::{Random, hash};
pub use range::NumberRange;
pub use requirement::{Requirement, Solver};
pub use test_tree::{ConditionTest, NamedTest, TestTree, constant};

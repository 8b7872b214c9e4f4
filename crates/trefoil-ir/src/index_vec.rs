//! Lists whose elements are found by an id of their own type.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// An id of the elements of one list.
pub trait TypedIndex: Copy {
    /// The id of the element at this index.
    fn from_index(index: usize) -> Self;
    /// The index of its element.
    fn index(self) -> usize;
}

/// A list in which an id finds its element: `steps[id]`.
///
/// Indexing panics for an id that the list does not have. [`Program::new`](crate::Program::new) proves for every program
/// that it has none. An id from elsewhere (another version of the program, a file) goes through [`IndexVec::find_element`].
pub struct IndexVec<I, T> {
    elements: Vec<T>,
    id: PhantomData<fn(I) -> I>,
}

impl<I: TypedIndex, T> IndexVec<I, T> {
    /// Adds an element.
    pub fn push(&mut self, element: T) -> I {
        self.elements.push(element);
        I::from_index(self.elements.len() - 1)
    }
    /// Reserves memory for more elements.
    pub fn reserve(&mut self, additional: usize) {
        self.elements.reserve(additional);
    }
    /// The element, if there is one.
    pub fn find_element(&self, id: I) -> Option<&T> {
        self.elements.get(id.index())
    }
    /// The element to be changed, if there is one.
    pub fn find_element_mut(&mut self, id: I) -> Option<&mut T> {
        self.elements.get_mut(id.index())
    }
    /// All elements, without their ids.
    pub fn as_slice(&self) -> &[T] {
        &self.elements
    }
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }
    /// All elements, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.elements.iter()
    }
    /// The same, to change them.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.elements.iter_mut()
    }
    /// All ids, in order.
    pub fn element_ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.elements.len()).map(I::from_index)
    }
    /// The id of the first element for which this holds.
    pub fn find_id(&self, holds: impl FnMut(&T) -> bool) -> Option<I> {
        self.elements.iter().position(holds).map(I::from_index)
    }
    /// What this makes of each element, with the same ids.
    pub fn map<'a, U>(&'a self, make: impl FnMut(&'a T) -> U) -> IndexVec<I, U> {
        self.elements.iter().map(make).collect()
    }
    /// All elements with their ids, in order.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.elements.iter().enumerate().map(|(at, element)| (I::from_index(at), element))
    }
    /// The same, to change the elements.
    pub fn entries_mut(&mut self) -> impl DoubleEndedIterator<Item = (I, &mut T)> + ExactSizeIterator {
        self.elements.iter_mut().enumerate().map(|(at, element)| (I::from_index(at), element))
    }
}

impl<I: TypedIndex, T> Index<I> for IndexVec<I, T> {
    type Output = T;
    #[allow(clippy::indexing_slicing, reason = "the ids of a program are proved by `validate`")]
    fn index(&self, id: I) -> &T {
        &self.elements[id.index()]
    }
}

impl<I: TypedIndex, T> IndexMut<I> for IndexVec<I, T> {
    #[allow(clippy::indexing_slicing, reason = "as for `index`")]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.elements[id.index()]
    }
}

impl<I, T> Default for IndexVec<I, T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<I, T: Clone> Clone for IndexVec<I, T> {
    fn clone(&self) -> Self {
        self.elements.clone().into()
    }
}

impl<I, T: fmt::Debug> fmt::Debug for IndexVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.elements.fmt(f)
    }
}

impl<I, T: PartialEq> PartialEq for IndexVec<I, T> {
    fn eq(&self, other: &Self) -> bool {
        self.elements == other.elements
    }
}

impl<I, T> From<Vec<T>> for IndexVec<I, T> {
    fn from(elements: Vec<T>) -> Self {
        Self { elements, id: PhantomData }
    }
}

impl<I, T> FromIterator<T> for IndexVec<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(elements: A) -> Self {
        elements.into_iter().collect::<Vec<_>>().into()
    }
}

impl<I, T> IntoIterator for IndexVec<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.elements.into_iter()
    }
}

impl<'a, I, T> IntoIterator for &'a IndexVec<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.elements.iter()
    }
}

impl<'a, I, T> IntoIterator for &'a mut IndexVec<I, T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.elements.iter_mut()
    }
}

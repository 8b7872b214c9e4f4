//! A store of items by typed id. Ids have a generation: the id of a removed item finds nothing, even if its place was
//! reused.

use std::fmt;
use std::marker::PhantomData;

/// The id of an item in a [`GenerationalArena`].
pub struct ArenaId<T> {
    place: u32,
    generation: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> ArenaId<T> {
    /// An id that never finds anything.
    pub const NONE: Self = Self { place: u32::MAX, generation: u32::MAX, of: PhantomData };
}

impl<T> Clone for ArenaId<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for ArenaId<T> {}
impl<T> PartialEq for ArenaId<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.place, self.generation) == (other.place, other.generation)
    }
}
impl<T> Eq for ArenaId<T> {}
impl<T> PartialOrd for ArenaId<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for ArenaId<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.place, self.generation).cmp(&(other.place, other.generation))
    }
}
impl<T> fmt::Debug for ArenaId<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.place, self.generation)
    }
}

/// Items in reusable places.
#[derive(Debug)]
pub struct GenerationalArena<T> {
    places: Vec<ArenaPlace<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct ArenaPlace<T> {
    generation: u32,
    item: Option<T>,
}

impl<T> Default for GenerationalArena<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> GenerationalArena<T> {
    /// Adds an item.
    pub fn insert(&mut self, item: T) -> ArenaId<T> {
        if let Some(place) = self.free.pop()
            && let Some(slot) = self.places.get_mut(place as usize)
        {
            slot.item = Some(item);
            return ArenaId { place, generation: slot.generation, of: PhantomData };
        }
        // Most runs are small, and thousands of them may be waiting, so this allocates less in advance than a vector.
        if self.places.len() == self.places.capacity() {
            self.places.reserve_exact((self.places.len() / 2).max(2));
        }
        self.places.push(ArenaPlace { generation: 0, item: Some(item) });
        ArenaId { place: self.places.len() as u32 - 1, generation: 0, of: PhantomData }
    }

    /// Removes an item; its id becomes invalid.
    pub fn remove(&mut self, id: ArenaId<T>) -> Option<T> {
        let slot = self.places.get_mut(id.place as usize)?;
        if slot.generation != id.generation {
            return None;
        }
        let item = slot.item.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id.place);
        Some(item)
    }

    /// The item with this id, if it still exists.
    #[inline]
    pub fn get(&self, id: ArenaId<T>) -> Option<&T> {
        let slot = self.places.get(id.place as usize)?;
        if slot.generation == id.generation { slot.item.as_ref() } else { None }
    }

    /// The item with this id, mutable.
    #[inline]
    pub fn get_mut(&mut self, id: ArenaId<T>) -> Option<&mut T> {
        let slot = self.places.get_mut(id.place as usize)?;
        if slot.generation == id.generation { slot.item.as_mut() } else { None }
    }

    /// All items.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| place.item.as_ref())
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Removes all items; their ids become invalid.
    pub fn clear(&mut self) {
        self.free.clear();
        for (place, slot) in self.places.iter_mut().enumerate() {
            if slot.item.take().is_some() {
                slot.generation = slot.generation.wrapping_add(1);
            }
            self.free.push(place as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_a_removed_item_finds_nothing_even_when_its_place_is_taken() {
        let mut arena = GenerationalArena::default();
        let first = arena.insert("a");
        assert_eq!(arena.remove(first), Some("a"));
        let second = arena.insert("b");
        assert_eq!(arena.get(first), None);
        assert_eq!(arena.get(second), Some(&"b"));
        assert_eq!(arena.len(), 1);
        arena.clear();
        assert_eq!((arena.get(second), arena.len()), (None, 0));
    }
}

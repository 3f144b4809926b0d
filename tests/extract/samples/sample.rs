//! Shop crate.
use std::collections::{HashMap, hash_map::Entry as Slot, self};
use crate::item::*;
use serde;
extern crate rand;
mod util;

/// The most items.
pub const LIMIT: usize = 10;
static NAME: &str = "x";

/// A cart.
#[derive(Debug, Clone)]
pub struct Cart<'a> {
    pub owner: &'a str,
    items: Vec<Item>,
}

pub enum Size {
    Small,
    Large(u32),
}

pub trait Price {
    fn price(&self) -> u32;
    fn cents(&self) -> u32 { self.price() * 100 }
}

impl<'a> Price for Cart<'a> {
    fn price(&self) -> u32 {
        self.items.iter().map(|i| i.price()).sum::<u32>()
    }
}

pub type Names = Vec<String>;

macro_rules! square {
    ($x:expr) => { $x * $x };
}

mod inner {
    pub(crate) fn helper<T>(x: T) -> T where T: Copy {
        println!("{}", square!(2));
        std::mem::drop(util::clone::<T>(x));
        x
    }
}

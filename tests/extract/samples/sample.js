// Entry point of the tool.
import React, { useState as useLocal, memo } from "react";
import * as path from 'path';
import "./side-effect";
export { helper as help } from "./helper";
const fs = require("fs");

/**
 * Adds two numbers.
 * @param a first
 */
export function add(a, b = 2) {
  return a + b;
}

export default class Cart extends Base {
  static total = 0;
  #secret = 1;

  // Puts an item in.
  push(item) {
    this.items.push(item);
    return new Map.Entry(item);
  }

  get size() { return this.items.length; }
}

export const LIMIT = 10;
const double = (x) => add(x, x);
let state = useLocal(0), other;
async function* walk() { for await (const x of fs?.list?.(path.sep)) yield x; }
Cart.prototype.pop = function () { return this.items.pop(); };
module.exports = { add };
function $add(list) { return $(list).each(add); }
const $ = (list) => list, $sum$ = 0;
$.fn.each = function () { return $add(this); };
class $Cart { $push() { return $add(1); } }

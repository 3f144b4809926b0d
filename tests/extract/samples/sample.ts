import type { Shape } from "./shape";
import fs = require("fs");

/** Anything with an area. */
export interface HasArea<T> extends Shape {
  readonly name: string;
  area(scale: number): T;
}

export type Id = string | number;

enum Color { Red = "r", Green }

export abstract class Circle implements HasArea<number> {
  private radius: number;
  constructor(radius: number) { this.radius = radius; }
  @memo() area(scale: number): number { return Math.round(this.radius * scale); }
  protected abstract draw(): void;
}

declare module "x" {}
namespace Geometry {
  export const PI: number = 3;
  export function turn(a: number): number;
  export function turn(a: any): any { return wrap<number>(a); }
}

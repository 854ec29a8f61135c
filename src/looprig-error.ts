/** What all errors of this package have in common: a kind to switch on, and a brand by which every copy of the package knows them. */

const brandOf = (name: string): symbol => Symbol.for(`looprig.error.${name}`);

/** Gives a class of errors its name and its brand. Called once, in the class's static block, with the name as it is written there. */
export function brandClass(prototype: object, name: string): void {
  Object.defineProperty(prototype, 'name', { value: name, configurable: true });
  Object.defineProperty(prototype, brandOf(name), { value: true });
}

/** Base of all errors of this package. `cause` holds the original failure where there was one. */
export class LooprigError<Kind extends string = string> extends Error {
  /** What went wrong, as a word to switch on. */
  readonly kind: Kind;

  static {
    brandClass(LooprigError.prototype, 'LooprigError');
  }

  constructor(kind: Kind, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.kind = kind;
  }

  /** Whether `value` is an error of this class (or of a class derived from it), from any copy of the package. */
  static is<E extends Error>(this: { readonly prototype: E }, value: unknown): value is E {
    if (typeof value !== 'object' || value === null) return false;
    return Reflect.get(value, brandOf(this.prototype.name)) === true;
  }
}

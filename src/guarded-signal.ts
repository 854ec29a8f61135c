/**
 * Signals for code that is not ours. What a listener throws is reported by the platform as an error that nobody caught, and ends a Node
 * process with all its sessions: such a listener is called here so that it throws at nobody.
 */

/** An abort controller; what a listener of its signal throws is given to `threw`, which must not throw, and goes no further. */
export function guardedController(threw: (error: unknown) => void): AbortController {
  const controller = new AbortController();
  const { signal } = controller;
  Object.setPrototypeOf(signal, GuardedSignal.prototype); // no platform lets anybody construct a signal of another class
  reporters.set(signal, threw);
  return controller;
}

type Listener = EventListenerOrEventListenerObject;

/** Where it is told what the listeners of a signal throw. */
const reporters = new WeakMap<EventTarget, (error: unknown) => void>();

/** A listener has one guard, whatever it listens to: so it is added once, and can be taken back. */
const guards = new WeakMap<Listener, EventListener>();

class GuardedSignal extends AbortSignal {
  override addEventListener(type: string, listener: Listener, options?: boolean | AddEventListenerOptions): void {
    super.addEventListener(type, guarded(listener), options);
  }

  override removeEventListener(type: string, listener: Listener, options?: boolean | EventListenerOptions): void {
    super.removeEventListener(type, guarded(listener), options);
  }

  override get onabort(): AbortSignal['onabort'] {
    return super.onabort;
  }

  override set onabort(listener: AbortSignal['onabort']) {
    super.onabort = guarded(listener as EventListener);
  }
}

/** What is no listener is left to the platform, which has its own way with it. */
function guarded<T extends Listener>(listener: T): T | EventListener {
  if (typeof listener !== 'function' && (typeof listener !== 'object' || listener === null)) return listener;
  const known = guards.get(listener);
  if (known !== undefined) return known;
  const guard = guardOf(listener);
  guards.set(listener, guard);
  return guard;
}

function guardOf(listener: Listener): EventListener {
  return function (this: EventTarget, event) {
    const report = reporters.get(this);
    try {
      const returned: unknown =
        typeof listener === 'function' ? Reflect.apply(listener, this, [event]) : listener.handleEvent(event);
      // The platform takes a listener that is async as one that throws later.
      if (typeof returned === 'object' && returned !== null)
        Promise.resolve(returned).then(undefined, error => report?.(error));
    } catch (error) {
      report?.(error);
    }
  };
}

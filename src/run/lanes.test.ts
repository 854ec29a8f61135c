import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type LaneClaim, Lanes } from './lanes.ts';

const claim: fc.Arbitrary<LaneClaim | undefined> = fc.option(
  fc.record({
    sequential: fc.oneof({ weight: 8, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    resources: fc.array(
      fc.oneof(
        fc.constantFrom('a', 'b', 'c'),
        fc.record({ key: fc.constantFrom('a', 'b', 'c'), mode: fc.constantFrom('read' as const, 'write' as const) }),
      ),
      { maxLength: 3 },
    ),
  }),
  { nil: undefined, freq: 8 },
);

/** Whether two calls of a batch must not run beside each other. */
function conflict(first: LaneClaim, second: LaneClaim): boolean {
  if (first.sequential || second.sequential) return true;
  const uses = (lane: LaneClaim) =>
    lane.resources.map(use => (typeof use === 'string' ? { key: use, mode: 'write' } : use));
  return uses(first).some(one =>
    uses(second).some(two => one.key === two.key && (one.mode === 'write' || two.mode === 'write')),
  );
}

it('every call runs once, conflicting calls one after the other in call order, and no slot stays empty that could be used', () => {
  const batches = fc.tuple(
    fc.array(claim, { maxLength: 12 }),
    fc.integer({ min: 1, max: 4 }),
    fc.infiniteStream(fc.nat()),
  );
  fc.assert(
    fc.property(batches, ([claims, width, choices]) => {
      const lanes = new Lanes(claims);
      const running: number[] = [];
      const finished = new Set<number>();
      const started: number[] = [];
      const fill = (): void => {
        while (running.length < width) {
          const index = lanes.take();
          if (index === undefined) break;
          started.push(index);
          running.push(index);
        }
        // What could run beside what runs, and comes before nobody it conflicts with, must not be waiting.
        if (running.length === width) return;
        const free = claims.findIndex((waiting, index) => {
          if (waiting === undefined || started.includes(index)) return false;
          return claims
            .slice(0, index)
            .every((before, at) => before === undefined || finished.has(at) || !conflict(before, waiting));
        });
        expect(free).toBe(-1);
      };
      fill();
      while (running.length > 0) {
        const [index] = running.splice(choices.next().value % running.length, 1) as [number];
        finished.add(index);
        lanes.finish(index);
        fill();
        for (const [place, one] of running.entries()) {
          for (const two of running.slice(place + 1)) expect(conflict(claims[one]!, claims[two]!)).toBe(false);
        }
      }
      const wanted = claims.flatMap((given, index) => (given === undefined ? [] : [index]));
      expect([...started].sort((a, b) => a - b)).toEqual(wanted);
      for (const [place, first] of started.entries()) {
        for (const second of started.slice(place + 1)) {
          if (conflict(claims[first]!, claims[second]!)) expect(first).toBeLessThan(second);
        }
      }
    }),
    { numRuns: 3_000 },
  );
});

it('free calls are taken in call order', () => {
  const open = { sequential: false, resources: [] };
  const lanes = new Lanes([
    open,
    { sequential: false, resources: ['k'] },
    { sequential: false, resources: ['k'] },
    open,
  ]);
  expect([lanes.take(), lanes.take(), lanes.take(), lanes.take()]).toEqual([0, 1, 3, undefined]);
  lanes.finish(1);
  expect(lanes.take()).toBe(2);
});

it('says for each call which calls before it must end first, each once, and nothing where none waits', () => {
  fc.assert(
    fc.property(fc.array(claim, { maxLength: 12 }), claims => {
      const waits = new Lanes(claims).waits();
      claims.forEach((waiting, index) => {
        const before = waits?.[index] ?? [];
        expect(before).toEqual([...new Set(before)].sort((a, b) => a - b));
        // Whom it conflicts with ends before it, at once or by those between them.
        const all = new Set<number>(before);
        for (const place of all) for (const further of waits?.[place] ?? []) all.add(further);
        const conflicts = claims.flatMap((claimed, place) => {
          const isBefore = place < index && claimed !== undefined && waiting !== undefined;
          return isBefore && conflict(claimed, waiting) ? [place] : [];
        });
        expect([...all].filter(place => place < index).length).toBe(all.size);
        expect(conflicts.filter(place => !all.has(place))).toEqual([]);
      });
    }),
  );
  expect(
    new Lanes([
      { sequential: false, resources: ['a'] },
      { sequential: false, resources: ['b'] },
    ]).waits(),
  ).toBeUndefined();
});

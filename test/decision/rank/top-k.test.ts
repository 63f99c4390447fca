import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Leaders } from '../../../src/decision/rank/top-k.ts';

test('gives all members by score, of equal ones the lower first, however adding and taking alternate', () => {
  const score = fc.integer({ min: 0, max: 30 }); // many are equal
  const members = fc.array(score, { maxLength: 400 });
  const turns = fc.array(fc.record({ added: fc.nat(120), taken: fc.nat(120) }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(members, turns, (scores, alternations) => {
      const leaders = new Leaders();
      const left: number[] = [];
      let next = 0;
      const byRank = (a: number, b: number) => (scores[b] as number) - (scores[a] as number) || a - b;
      const takeOne = (): number => {
        if (leaders.mustLookAgain) {
          leaders.lookAgain();
          for (let member = 0; member < next; member++) leaders.addAgain(member, scores[member] as number);
        }
        return leaders.take();
      };
      // As of a ranking: what is added later is not better than what was taken before.
      let ceiling = Number.POSITIVE_INFINITY;
      for (const { added, taken } of [...alternations, { added: 400, taken: 800 }]) {
        for (let count = 0; count < added && next < scores.length; count++, next++) {
          if ((scores[next] as number) >= ceiling) scores[next] = Math.max(0, ceiling - 1);
          leaders.add(next, scores[next] as number);
          left.push(next);
        }
        for (let count = 0; count < taken; count++) {
          left.sort(byRank);
          const first = left.shift() ?? -1;
          expect(takeOne()).toBe(first);
          if (first !== -1) ceiling = scores[first] as number;
        }
      }
    }),
    { numRuns: 300 },
  );
});

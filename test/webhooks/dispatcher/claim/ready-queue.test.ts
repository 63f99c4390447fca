import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Visit } from '../../../../src/webhooks/dispatcher/claim/claim.ts';
import { createReadyQueue, type ReadyQueue } from '../../../../src/webhooks/dispatcher/claim/ready-queue.ts';

const ample = { trusted: 10, untrusted: 10 };
const good = (endpointId: number, room = 4): Visit => ({ endpointId, trusted: true, room });
const doubtful = (endpointId: number, room = 4): Visit => ({ endpointId, trusted: false, room });

/** One claim: visits whose turn it is and finds what `found` says. @returns who was visited */
function claim(
  turns: ReadyQueue,
  visits: readonly Visit[],
  found: Record<number, number> = {},
  limits = ample,
): number[] {
  const ids = turns.next(limits);
  const seen = visits.filter(({ endpointId }) => ids.includes(endpointId));
  turns.visited(ids, seen, new Map(Object.entries(found).map(([id, count]) => [Number(id), count])), limits);
  return ids;
}

describe('whose turn it is', () => {
  test('an endpoint that had nothing left is not visited again before something comes for it', () => {
    const turns = createReadyQueue();
    turns.arrived([7]);
    expect(claim(turns, [good(7)], { 7: 1 })).toEqual([7]);
    expect(turns.next(ample)).toEqual([]);
    turns.arrived([7]);
    expect(turns.next(ample)).toEqual([7]);
  });

  test('one that holds all it may is not visited, whatever comes for it, until one of its calls has ended', () => {
    const turns = createReadyQueue();
    turns.arrived([7]);
    claim(turns, [good(7)], { 7: 4 });
    turns.arrived([7]);
    expect(turns.next(ample)).toEqual([]);
    turns.freed(7);
    expect(turns.next(ample)).toEqual([7]);
  });

  test('one that may not be called costs no visit until somebody has looked', () => {
    const turns = createReadyQueue();
    turns.arrived([7]);
    expect(claim(turns, [])).toEqual([7]);
    turns.arrived([7]);
    expect(turns.next(ample)).toEqual([]);
    turns.looked([{ endpointId: 7, callable: false, trusted: true }], true);
    turns.arrived([7]);
    expect(turns.next(ample)).toEqual([]);
    turns.looked([{ endpointId: 7, callable: true, trusted: true }], true);
    expect(turns.next(ample)).toEqual([7]);
  });

  test('what comes while its endpoint is being visited is not forgotten, nor is a call that ends then', () => {
    const turns = createReadyQueue();
    turns.arrived([1, 2, 3]);
    const ids = turns.next(ample);
    turns.arrived([1, 2]);
    turns.freed(2);
    turns.freed(3);
    turns.visited(ids, [good(1), good(2)], new Map([[2, 4]]), ample);
    expect(turns.next(ample)).toEqual([3, 1, 2]);
  });

  test('what comes while somebody looks is not forgotten', () => {
    const turns = createReadyQueue();
    turns.arrived([7, 8]);
    claim(turns, [good(7)], { 7: 4 });
    turns.arrived([7, 8]);
    turns.looked([{ endpointId: 8, callable: false, trusted: true }], true); // what was seen before 7 came
    expect(turns.next(ample)).toEqual([7]);
  });

  test('while somebody looks, part by part, who becomes full is still called again when one of its calls has ended', () => {
    const turns = createReadyQueue();
    turns.looked([{ endpointId: 3, callable: true, trusted: true }], false);
    expect(claim(turns, [good(3)], { 3: 4 })).toEqual([3]);
    turns.looked([{ endpointId: 9, callable: false, trusted: true }], true); // of 3 it saw what was before
    turns.freed(3);
    expect(turns.next(ample)).toEqual([3]);
  });

  test('who had been set aside and has nothing any more is called as soon as something comes', () => {
    const turns = createReadyQueue();
    turns.looked([{ endpointId: 7, callable: false, trusted: true }], true);
    turns.looked([{ endpointId: 8, callable: false, trusted: true }], false);
    turns.arrived([7]);
    expect(turns.next(ample)).toEqual([]);
    turns.looked([{ endpointId: 9, callable: false, trusted: true }], true);
    turns.arrived([7, 8]);
    expect(turns.next(ample)).toEqual([7]);
  });

  test('who was cut off by the free slots keeps its turn; who was served goes to the end', () => {
    const turns = createReadyQueue();
    turns.arrived([1, 2, 3]);
    const limits = { trusted: 3, untrusted: 0 };
    expect(claim(turns, [good(1, 2), good(2), good(3)], { 1: 2, 2: 1 }, limits)).toEqual([1, 2, 3]);
    expect(turns.next(ample)).toEqual([3, 2]);
  });

  test('those in doubt wait in a line of their own and keep nobody waiting', () => {
    const turns = createReadyQueue();
    turns.arrived([1, 2, 3]);
    const limits = { trusted: 2, untrusted: 0 };
    expect(claim(turns, [doubtful(1), doubtful(2)], {}, limits)).toEqual([1, 2]);
    turns.arrived([1, 2]);
    expect(turns.next(limits)).toEqual([3]);
    expect(turns.next(ample)).toEqual([3, 1, 2]);
  });

  test('whatever has something to send is visited until all is sent, and then nothing is', () => {
    const endpoints = fc.array(
      fc.record({ backlog: fc.nat({ max: 30 }), trusted: fc.boolean(), room: fc.integer({ min: 1, max: 4 }) }),
      {
        maxLength: 40,
      },
    );
    fc.assert(
      fc.property(endpoints, fc.integer({ min: 1, max: 9 }), (all, slots) => {
        const turns = createReadyQueue();
        const backlogs = all.map(({ backlog }) => backlog);
        turns.arrived(backlogs.keys());
        for (let round = 0; round <= 2000; round++) {
          const limits = { trusted: slots, untrusted: slots };
          const left = { ...limits };
          const ids = turns.next(limits);
          if (ids.length === 0) break;
          expect(round).toBeLessThan(2000);
          const found = new Map<number, number>();
          const visits = ids.map((endpointId) => {
            const { trusted, room } = all[endpointId] as (typeof all)[number];
            const side = trusted ? 'trusted' : 'untrusted';
            const count = Math.min(room, backlogs[endpointId] as number, left[side]);
            left[side] -= count;
            backlogs[endpointId] = (backlogs[endpointId] as number) - count;
            found.set(endpointId, count);
            return { endpointId, trusted, room };
          });
          turns.visited(ids, visits, found, limits);
          for (const endpointId of ids) turns.freed(endpointId);
        }
        expect(backlogs.filter((backlog) => backlog > 0)).toEqual([]);
      }),
    );
  });
});

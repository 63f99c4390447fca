import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Candidate } from '../../../../src/webhooks/dispatcher/claim/claim.ts';
import { createReadyQueue, type ReadyQueue } from '../../../../src/webhooks/dispatcher/claim/ready-queue.ts';

const ample = { trusted: 10, untrusted: 10 };
const good = (endpointId: number, room = 4): Candidate => ({ endpointId, trusted: true, room });
const doubtful = (endpointId: number, room = 4): Candidate => ({ endpointId, trusted: false, room });

/** One claim: candidates whose turn it is and finds what `found` says. @returns who was visited */
function claim(
  queue: ReadyQueue,
  candidates: readonly Candidate[],
  found: Record<number, number> = {},
  limits = ample,
): number[] {
  const ids = queue.peek(limits);
  const seen = candidates.filter(({ endpointId }) => ids.includes(endpointId));
  queue.update(ids, seen, new Map(Object.entries(found).map(([id, count]) => [Number(id), count])), limits);
  return ids;
}

describe('whose turn it is', () => {
  test('an endpoint that had nothing left is not visited again before something comes for it', () => {
    const queue = createReadyQueue();
    queue.arrived([7]);
    expect(claim(queue, [good(7)], { 7: 1 })).toEqual([7]);
    expect(queue.peek(ample)).toEqual([]);
    queue.arrived([7]);
    expect(queue.peek(ample)).toEqual([7]);
  });

  test('one that holds all it may is not visited, whatever comes for it, until one of its calls has ended', () => {
    const queue = createReadyQueue();
    queue.arrived([7]);
    claim(queue, [good(7)], { 7: 4 });
    queue.arrived([7]);
    expect(queue.peek(ample)).toEqual([]);
    queue.freed(7);
    expect(queue.peek(ample)).toEqual([7]);
  });

  test('one that may not be called costs no visit until somebody has looked', () => {
    const queue = createReadyQueue();
    queue.arrived([7]);
    expect(claim(queue, [])).toEqual([7]);
    queue.arrived([7]);
    expect(queue.peek(ample)).toEqual([]);
    queue.scanned([{ endpointId: 7, callable: false, trusted: true }], true);
    queue.arrived([7]);
    expect(queue.peek(ample)).toEqual([]);
    queue.scanned([{ endpointId: 7, callable: true, trusted: true }], true);
    expect(queue.peek(ample)).toEqual([7]);
  });

  test('what comes while its endpoint is being visited is not forgotten, nor is a call that ends then', () => {
    const queue = createReadyQueue();
    queue.arrived([1, 2, 3]);
    const ids = queue.peek(ample);
    queue.arrived([1, 2]);
    queue.freed(2);
    queue.freed(3);
    queue.update(ids, [good(1), good(2)], new Map([[2, 4]]), ample);
    expect(queue.peek(ample)).toEqual([3, 1, 2]);
  });

  test('what comes while somebody looks is not forgotten', () => {
    const queue = createReadyQueue();
    queue.arrived([7, 8]);
    claim(queue, [good(7)], { 7: 4 });
    queue.arrived([7, 8]);
    queue.scanned([{ endpointId: 8, callable: false, trusted: true }], true); // what was seen before 7 came
    expect(queue.peek(ample)).toEqual([7]);
  });

  test('while somebody looks, part by part, who becomes full is still called again when one of its calls has ended', () => {
    const queue = createReadyQueue();
    queue.scanned([{ endpointId: 3, callable: true, trusted: true }], false);
    expect(claim(queue, [good(3)], { 3: 4 })).toEqual([3]);
    queue.scanned([{ endpointId: 9, callable: false, trusted: true }], true); // of 3 it saw what was before
    queue.freed(3);
    expect(queue.peek(ample)).toEqual([3]);
  });

  test('who had been set aside and has nothing any more is called as soon as something comes', () => {
    const queue = createReadyQueue();
    queue.scanned([{ endpointId: 7, callable: false, trusted: true }], true);
    queue.scanned([{ endpointId: 8, callable: false, trusted: true }], false);
    queue.arrived([7]);
    expect(queue.peek(ample)).toEqual([]);
    queue.scanned([{ endpointId: 9, callable: false, trusted: true }], true);
    queue.arrived([7, 8]);
    expect(queue.peek(ample)).toEqual([7]);
  });

  test('who was cut off by the free slots keeps its turn; who was served goes to the end', () => {
    const queue = createReadyQueue();
    queue.arrived([1, 2, 3]);
    const limits = { trusted: 3, untrusted: 0 };
    expect(claim(queue, [good(1, 2), good(2), good(3)], { 1: 2, 2: 1 }, limits)).toEqual([1, 2, 3]);
    expect(queue.peek(ample)).toEqual([3, 2]);
  });

  test('those in doubt wait in a line of their own and keep nobody waiting', () => {
    const queue = createReadyQueue();
    queue.arrived([1, 2, 3]);
    const limits = { trusted: 2, untrusted: 0 };
    expect(claim(queue, [doubtful(1), doubtful(2)], {}, limits)).toEqual([1, 2]);
    queue.arrived([1, 2]);
    expect(queue.peek(limits)).toEqual([3]);
    expect(queue.peek(ample)).toEqual([3, 1, 2]);
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
        const queue = createReadyQueue();
        const backlogs = all.map(({ backlog }) => backlog);
        queue.arrived(backlogs.keys());
        for (let round = 0; round <= 2000; round++) {
          const limits = { trusted: slots, untrusted: slots };
          const left = { ...limits };
          const ids = queue.peek(limits);
          if (ids.length === 0) break;
          expect(round).toBeLessThan(2000);
          const found = new Map<number, number>();
          const candidates = ids.map((endpointId) => {
            const { trusted, room } = all[endpointId] as (typeof all)[number];
            const side = trusted ? 'trusted' : 'untrusted';
            const count = Math.min(room, backlogs[endpointId] as number, left[side]);
            left[side] -= count;
            backlogs[endpointId] = (backlogs[endpointId] as number) - count;
            found.set(endpointId, count);
            return { endpointId, trusted, room };
          });
          queue.update(ids, candidates, found, limits);
          for (const endpointId of ids) queue.freed(endpointId);
        }
        expect(backlogs.filter((backlog) => backlog > 0)).toEqual([]);
      }),
    );
  });
});

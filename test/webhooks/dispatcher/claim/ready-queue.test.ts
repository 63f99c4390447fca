import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Candidate, Standing } from '../../../../src/webhooks/dispatcher/claim/claimed.ts';
import { createReadyQueue, type ReadyQueue } from '../../../../src/webhooks/dispatcher/claim/ready-queue.ts';

const ample = { trusted: 10, untrusted: 10, tried: 10 };
const trusted = (endpointId: number, room = 4): Candidate => ({ endpointId, standing: 'trusted', room });
const untrusted = (endpointId: number, room = 4): Candidate => ({ endpointId, standing: 'tried', room });

/**
 * Simulates one claim, which finds the number of deliveries per endpoint given in `deliveryCounts`.
 * @returns the endpoints that it claims for
 */
function claim(
  queue: ReadyQueue,
  candidates: readonly Candidate[],
  deliveryCounts: Record<number, number> = {},
  limits = ample,
): number[] {
  const ids = queue.peek(limits);
  const peekedCandidates = candidates.filter(({ endpointId }) => ids.includes(endpointId));
  queue.update(
    ids,
    peekedCandidates,
    new Map(Object.entries(deliveryCounts).map(([id, count]) => [Number(id), count])),
    limits,
  );
  return ids;
}

/** Returns the limits that apply to an endpoint. */
const sides = (standing: Standing) =>
  (({ trusted: ['trusted'], untried: ['untrusted'], tried: ['untrusted', 'tried'] }) as const)[standing];

describe('the ready queue', () => {
  test('skips an endpoint without deliveries until a new one arrives', () => {
    const queue = createReadyQueue();
    queue.arrived([7]);
    expect(claim(queue, [trusted(7)], { 7: 1 })).toEqual([7]);
    expect(queue.peek(ample)).toEqual([]);
    queue.arrived([7]);
    expect(queue.peek(ample)).toEqual([7]);
  });

  test('skips an endpoint at its limit until one of its calls ends', () => {
    const queue = createReadyQueue();
    queue.arrived([7]);
    claim(queue, [trusted(7)], { 7: 4 });
    queue.arrived([7]);
    expect(queue.peek(ample)).toEqual([]);
    queue.freed(7);
    expect(queue.peek(ample)).toEqual([7]);
  });

  test('skips an endpoint that may not be called until a scan finds that it may', () => {
    const queue = createReadyQueue();
    queue.arrived([7]);
    expect(claim(queue, [])).toEqual([7]);
    queue.arrived([7]);
    expect(queue.peek(ample)).toEqual([]);
    queue.scanned([{ endpointId: 7, callable: false, standing: 'trusted' }], true);
    queue.arrived([7]);
    expect(queue.peek(ample)).toEqual([]);
    queue.scanned([{ endpointId: 7, callable: true, standing: 'trusted' }], true);
    expect(queue.peek(ample)).toEqual([7]);
  });

  test('remembers a delivery that arrives or a call that ends during a claim', () => {
    const queue = createReadyQueue();
    queue.arrived([1, 2, 3]);
    const ids = queue.peek(ample);
    queue.arrived([1, 2]);
    queue.freed(2);
    queue.freed(3);
    queue.update(ids, [trusted(1), trusted(2)], new Map([[2, 4]]), ample);
    expect(queue.peek(ample)).toEqual([3, 1, 2]);
  });

  test('remembers a delivery that arrives during a scan', () => {
    const queue = createReadyQueue();
    queue.arrived([7, 8]);
    claim(queue, [trusted(7)], { 7: 4 });
    queue.arrived([7, 8]);
    queue.scanned([{ endpointId: 8, callable: false, standing: 'trusted' }], true); // what was seen before 7 came
    expect(queue.peek(ample)).toEqual([7]);
  });

  test('resumes an endpoint that reaches its limit during a scan when one of its calls ends', () => {
    const queue = createReadyQueue();
    queue.scanned([{ endpointId: 3, callable: true, standing: 'trusted' }], false);
    expect(claim(queue, [trusted(3)], { 3: 4 })).toEqual([3]);
    queue.scanned([{ endpointId: 9, callable: false, standing: 'trusted' }], true); // of 3 it saw what was before
    queue.freed(3);
    expect(queue.peek(ample)).toEqual([3]);
  });

  test('calls a parked endpoint without deliveries as soon as one arrives', () => {
    const queue = createReadyQueue();
    queue.scanned([{ endpointId: 7, callable: false, standing: 'trusted' }], true);
    queue.scanned([{ endpointId: 8, callable: false, standing: 'trusted' }], false);
    queue.arrived([7]);
    expect(queue.peek(ample)).toEqual([]);
    queue.scanned([{ endpointId: 9, callable: false, standing: 'trusted' }], true);
    queue.arrived([7, 8]);
    expect(queue.peek(ample)).toEqual([7]);
  });

  test('keeps the place of an endpoint without a free slot, and moves a served one to the end', () => {
    const queue = createReadyQueue();
    queue.arrived([1, 2, 3]);
    const limits = { trusted: 3, untrusted: 0, tried: 0 };
    expect(claim(queue, [trusted(1, 2), trusted(2), trusted(3)], { 1: 2, 2: 1 }, limits)).toEqual([1, 2, 3]);
    expect(queue.peek(ample)).toEqual([3, 2]);
  });

  test('keeps untrusted endpoints in a separate queue, where they delay no trusted one', () => {
    const queue = createReadyQueue();
    queue.arrived([1, 2, 3]);
    const limits = { trusted: 2, untrusted: 0, tried: 0 };
    expect(claim(queue, [untrusted(1), untrusted(2)], {}, limits)).toEqual([1, 2]);
    queue.arrived([1, 2]);
    expect(queue.peek(limits)).toEqual([3]);
    expect(queue.peek(ample)).toEqual([3, 1, 2]);
  });

  test('claims for an endpoint with deliveries until all are sent, and then stops', () => {
    const endpoints = fc.array(
      fc.record({
        backlog: fc.nat({ max: 30 }),
        standing: fc.constantFrom<Standing[]>('trusted', 'untried', 'tried'),
        room: fc.integer({ min: 1, max: 4 }),
      }),
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
          const limits = { trusted: slots, untrusted: slots, tried: Math.ceil(slots / 2) };
          const remaining = { ...limits };
          const ids = queue.peek(limits);
          if (ids.length === 0) break;
          expect(round).toBeLessThan(2000);
          const deliveryCounts = new Map<number, number>();
          const candidates = ids.map((endpointId) => {
            const { standing, room } = all[endpointId] as (typeof all)[number];
            const count = Math.min(
              room,
              backlogs[endpointId] as number,
              ...sides(standing).map((side) => remaining[side]),
            );
            for (const side of sides(standing)) remaining[side] -= count;
            backlogs[endpointId] = (backlogs[endpointId] as number) - count;
            deliveryCounts.set(endpointId, count);
            return { endpointId, standing, room };
          });
          queue.update(ids, candidates, deliveryCounts, limits);
          for (const endpointId of ids) queue.freed(endpointId);
        }
        expect(backlogs.filter((backlog) => backlog > 0)).toEqual([]);
      }),
    );
  });
});

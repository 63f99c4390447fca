/** How much may be claimed now. `rooms[i]` is what is left for the endpoint `busyIds[i]`; `room` for every other. */
export type Allowance = { limit: number; room: number; busyIds: number[]; rooms: number[] };

/** The calls in flight in one worker. */
export type Slots = {
  free: () => number;
  allowance: () => Allowance;
  take: (endpointId: number) => void;
  give: (endpointId: number) => void;
};

/**
 * Shares slots among endpoints: one may hold at most as many as are still free, and one claim takes at most half of the
 * free ones. A single endpoint gets half, n hanging ones get 1/(n+1) each and leave as much to the next, so that no
 * endpoint that hangs can take all.
 */
export function createSlots(total: number): Slots {
  const held = new Map<number, number>();
  let free = total;
  const half = (count: number): number => Math.max(0, Math.ceil(count / 2));
  return {
    free: () => free,
    allowance: () => {
      const busyIds = [...held.keys()];
      return { limit: half(free), room: half(free), busyIds, rooms: [...held.values()].map((count) => half(free - count)) };
    },
    take: (endpointId) => {
      free -= 1;
      held.set(endpointId, (held.get(endpointId) ?? 0) + 1);
    },
    give: (endpointId) => {
      const count = held.get(endpointId);
      if (count === undefined) throw new Error('a slot was given back that nobody held');
      free += 1;
      if (count === 1) held.delete(endpointId);
      else held.set(endpointId, count - 1);
    },
  };
}

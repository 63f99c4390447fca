/** A delivery as the list of the API has it. */
export type Delivery = {
  id: string;
  webhook_id: string;
  endpoint_id: number;
  event: string;
  status: string;
  tries: number;
  last_status: number | null;
  last_error: string | null;
  created_at: string;
};

/** Of the list: newest first. */
export type DeliveryPage = { deliveries: readonly Delivery[]; next_cursor: string | null };

type ReadPage = (query: { cursor?: string; from?: string }) => Promise<DeliveryPage>;

/** Deliveries may be committed so much later than newer ones (milliseconds). */
const settledMs = 2000;
/** Deliveries of one look at those that wait for an attempt (count): changes of older ones may not be seen. */
const maxWatched = 2000;
/** Deliveries that are remembered (count), and those of the last two seconds. */
const maxRemembered = 10_000;

type Known = { state: string; atMs: number; isPending: boolean };

const atMsOf = ({ created_at: at }: Delivery): number => Date.parse(at);
const stateOf = ({ status, tries }: Delivery): string => `${status} ${tries}`;

/** Looks at deliveries from the newest down, as far as there are new ones, or some that wait for an attempt. */
export function createLooks(read: ReadPage) {
  const known = new Map<string, Known>();
  /** What is older may have been there before the first look. */
  let bottomMs = 0;
  let newestMs = 0;

  function remember(rows: readonly Delivery[]): void {
    for (const row of rows) {
      newestMs = Math.max(newestMs, atMsOf(row));
      known.set(row.id, { state: stateOf(row), atMs: atMsOf(row), isPending: row.status === 'pending' });
    }
    for (const [id, { atMs }] of known) {
      if (known.size <= maxRemembered || atMs >= newestMs - settledMs) break;
      known.delete(id);
    }
  }

  /** How far down a look goes (epoch milliseconds). */
  function floor(): number {
    const pending = [...known.values()].slice(-maxWatched).filter(({ isPending }) => isPending);
    return Math.max(bottomMs, Math.min(newestMs - settledMs, ...pending.map(({ atMs }) => atMs)));
  }

  return {
    /** @returns at least the last so many (count), and as many as come with them; oldest first */
    first: async (last: number): Promise<Delivery[]> => {
      const found: Delivery[] = [];
      let cursor: string | null = null;
      do {
        const page: DeliveryPage = await read(cursor === null ? {} : { cursor });
        found.push(...page.deliveries);
        cursor = page.next_cursor;
      } while (cursor !== null && found.length < last);
      const oldest = found.at(-1);
      if (cursor !== null && oldest !== undefined) bottomMs = atMsOf(oldest) + 1;
      remember(found.reverse());
      return found;
    },
    /** @returns what is new or has changed since the last look, oldest first */
    next: async (): Promise<Delivery[]> => {
      const found: Delivery[] = [];
      const [floorMs, settled] = [floor(), newestMs - settledMs];
      const isBelow = (ms: number): boolean => found.length > 0 && atMsOf(found.at(-1) as Delivery) < ms;
      // The newest ones are read whatever their time: with a filter of states, old ones come to it.
      let page: DeliveryPage = await read({});
      found.push(...page.deliveries);
      while (page.next_cursor !== null && !isBelow(floorMs) && !(found.length >= maxWatched && isBelow(settled))) {
        page = await read({ cursor: page.next_cursor, from: new Date(Math.max(0, floorMs)).toISOString() });
        found.push(...page.deliveries);
      }
      const changed = found.reverse().filter((row) => known.get(row.id)?.state !== stateOf(row));
      remember(found);
      return changed;
    },
  };
}

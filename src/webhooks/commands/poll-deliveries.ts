/** Delivery as returned by the API's delivery list. */
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

/** Page of the delivery list, with the newest delivery first. */
export type DeliveryPage = { deliveries: readonly Delivery[]; next_cursor: string | null };

type ReadPage = (query: { cursor?: string; from?: string }) => Promise<DeliveryPage>;

/** Maximum time by which a delivery may be committed later than a newer one, in milliseconds. */
const settledMs = 2000;
/**
 * Number of newest known deliveries among which pending ones are watched. Changes to older deliveries may be missed.
 */
const maxWatched = 2000;
/** Maximum number of deliveries to remember. Those from the last two seconds are always remembered. */
const maxRemembered = 10_000;

type DeliveryState = { state: string; atMs: number; isPending: boolean };

const atMsOf = ({ created_at: at }: Delivery): number => Date.parse(at);
const stateOf = ({ status, tries }: Delivery): string => `${status} ${tries}`;

/**
 * Creates a poller that reads the newest deliveries first, and reads back only as far as deliveries may be new or
 * pending.
 */
export function createDeliveryPoller(read: ReadPage) {
  const states = new Map<string, DeliveryState>();
  /**
   * Creation time below which no poll reads, in epoch milliseconds. Older deliveries may already have existed before
   * the first poll.
   */
  let bottomMs = 0;
  let newestMs = 0;

  function remember(rows: readonly Delivery[]): void {
    for (const row of rows) {
      newestMs = Math.max(newestMs, atMsOf(row));
      states.set(row.id, { state: stateOf(row), atMs: atMsOf(row), isPending: row.status === 'pending' });
    }
    for (const [id, { atMs }] of states) {
      if (states.size <= maxRemembered || atMs >= newestMs - settledMs) break;
      states.delete(id);
    }
  }

  /** Returns the creation time down to which the next poll reads, in epoch milliseconds. */
  function floor(): number {
    const pending = [...states.values()].slice(-maxWatched).filter(({ isPending }) => isPending);
    return Math.max(bottomMs, Math.min(newestMs - settledMs, ...pending.map(({ atMs }) => atMs)));
  }

  return {
    /**
     * Runs the first poll.
     * @returns at least the last `last` deliveries, rounded up to whole pages, oldest first
     */
    first: async (last: number): Promise<Delivery[]> => {
      const deliveries: Delivery[] = [];
      let cursor: string | null = null;
      do {
        const page: DeliveryPage = await read(cursor === null ? {} : { cursor });
        deliveries.push(...page.deliveries);
        cursor = page.next_cursor;
      } while (cursor !== null && deliveries.length < last);
      const oldest = deliveries.at(-1);
      if (cursor !== null && oldest !== undefined) bottomMs = atMsOf(oldest) + 1;
      remember(deliveries.reverse());
      return deliveries;
    },
    /**
     * Runs the next poll.
     * @returns deliveries that are new or have changed since the last poll, oldest first
     */
    next: async (): Promise<Delivery[]> => {
      const deliveries: Delivery[] = [];
      const [floorMs, settled] = [floor(), newestMs - settledMs];
      const isBelow = (ms: number): boolean => deliveries.length > 0 && atMsOf(deliveries.at(-1) as Delivery) < ms;
      // Always read the first page: if there is a status filter, old deliveries can start to match it.
      let page: DeliveryPage = await read({});
      deliveries.push(...page.deliveries);
      while (page.next_cursor !== null && !isBelow(floorMs) && !(deliveries.length >= maxWatched && isBelow(settled))) {
        page = await read({ cursor: page.next_cursor, from: new Date(Math.max(0, floorMs)).toISOString() });
        deliveries.push(...page.deliveries);
      }
      const changed = deliveries.reverse().filter((row) => states.get(row.id)?.state !== stateOf(row));
      remember(deliveries);
      return changed;
    },
  };
}

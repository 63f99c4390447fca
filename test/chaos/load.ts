import type { Stage } from './stage.ts';

/** One call. `status` is 0 if there was no response. */
export type Call = { atMs: number; tookMs: number; status: number };

export type Load = {
  /** IDs of sessions whose wrap was answered with 200. */
  wrapped: string[];
  /** IDs of sessions in which the impression beacon of the first offer was answered with 200. */
  impressionSessionIds: string[];
  /** All calls with their status and duration, in milliseconds. */
  calls: Call[];
  /** Resolves when this many sessions are wrapped. */
  reach: (count: number) => Promise<void>;
  /** Stops the users after their current call. */
  stop: () => Promise<void>;
};

type Fetched = { data: { session_id: string; offers: { pixel: string }[] } };

const users = 16;
const pauseMs = 50;

/**
 * Starts users who repeatedly fetch offers, see the first one and wrap the session, whatever happens to the servers,
 * until `total` wraps have succeeded.
 */
export function startLoad(stage: Pick<Stage, 'apiUrl' | 'keys'>, total: number): Load {
  const wrapped: string[] = [];
  const impressionSessionIds: string[] = [];
  const calls: Call[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  let running = true;
  let turn = 0;

  const call = async (url: string, options: RequestInit = {}): Promise<Response> => {
    const atMs = performance.now();
    let status = 0;
    try {
      const answer = await fetch(url, { ...options, signal: AbortSignal.timeout(5000) });
      status = answer.status;
      if (!answer.ok) throw new Error(String(status));
      return answer;
    } finally {
      calls.push({ atMs, tookMs: performance.now() - atMs, status });
    }
  };

  const post = (path: string, body: object): Promise<Response> =>
    call(`${stage.apiUrl()}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  async function user(): Promise<void> {
    while (running && wrapped.length < total) {
      turn += 1;
      const key = stage.keys[turn % stage.keys.length];
      try {
        const fetched = await post(`/native/v4/offers.json?api_key=${key}`, {
          placement: 'checkout',
          pub_user_id: `user-${turn}`,
        });
        const { session_id, offers } = ((await fetched.json()) as Fetched).data;
        const pixel = offers[0]?.pixel;
        if (pixel !== undefined) {
          await call(pixel);
          impressionSessionIds.push(session_id);
        }
        await post(`/sdk/v4/usp/session/${session_id}.json?api_key=${key}`, { action: 'wrap' });
        wrapped.push(session_id);
        for (const waiter of waiting) if (wrapped.length >= waiter.count) waiter.resolve();
      } catch {
        await new Promise((resolve) => setTimeout(resolve, pauseMs)); // a server is away
      }
    }
  }

  const done = Promise.all(Array.from({ length: users }, user));
  return {
    wrapped,
    impressionSessionIds,
    calls,
    reach: (count) =>
      new Promise((resolve) => {
        if (wrapped.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    stop: async () => {
      running = false;
      await done;
    },
  };
}
